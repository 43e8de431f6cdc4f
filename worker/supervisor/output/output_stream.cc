#include "worker/supervisor/output/output_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

namespace hpc::worker {
namespace {

constexpr int kPipeBytes = 1 << 20;
constexpr int64_t kPumpBytes = 4 * kPipeBytes;

// The kernel's pages are touched once in each direction. A larger buffer would not fit the cache.
char buffer[256 << 10];

}  // namespace

OutputStream::OutputStream(int32_t rank, bool is_stderr, int64_t limit)
    : rank_(rank), is_stderr_(is_stderr), limit_(limit) {}

bool OutputStream::Open() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  read_.Reset(ends[0]);
  write_.Reset(ends[1]);
  // Only the reading end, since the rank must not find its stdout non-blocking.
  fcntl(read_.get(), F_SETFL, O_NONBLOCK);
  // A larger pipe, so that a rank seldom waits for us. An account at its quota of pipe pages keeps
  // 64 KiB.
  fcntl(read_.get(), F_SETPIPE_SZ, kPipeBytes);
  return true;
}

bool OutputStream::OpenFile() {
  if (!file_.ok()) {
    const std::string name = "rank-" + std::to_string(rank_) + (is_stderr_ ? ".err" : ".out");
    // If something is there already, a rank has put it there. It is not opened: if it were a pipe,
    // we would wait for ever.
    file_.Reset(open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  }
  return file_.ok();
}

int64_t OutputStream::Store(const char* data, int64_t size) {
  if (size <= 0) return 0;
  if (!OpenFile()) {
    // If the rank has put something in the file's place, nothing is lacking.
    refusal_ = errno == EEXIST ? 0 : errno;
    return 0;
  }
  if (missing_ > 0 && !MarkGap()) return 0;
  refusal_ = 0;
  int64_t stored = 0;
  while (stored < size) {
    const ssize_t n = write(file_.get(), data + stored, size - stored);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      refusal_ = n < 0 ? errno : ENOSPC;
      break;
    }
    stored += n;
  }
  if (stored > 0) ends_line_ = data[stored - 1] == '\n';
  return stored;
}

// Writes the whole line or nothing of it.
bool OutputStream::MarkGap() {
  const bool full = refusal_ == ENOSPC || refusal_ == EDQUOT;
  const std::string line = std::string(ends_line_ ? "" : "\n") +
                           "[hpcctl: " + std::to_string(missing_) +
                           " bytes of output are missing here: " +
                           (full ? "the disk of this PC was full" : strerror(refusal_)) + "]\n";
  const ssize_t n = write(file_.get(), line.data(), line.size());
  if (n != static_cast<ssize_t>(line.size())) {
    if (n > 0 && ftruncate(file_.get(), bytes_) == 0) lseek(file_.get(), bytes_, SEEK_SET);
    return false;
  }
  bytes_ += n;
  missing_ = 0;
  ends_line_ = true;
  return true;
}

int64_t OutputStream::Pump() {
  int64_t taken = 0;
  while (!ended_ && taken < kPumpBytes) {
    const ssize_t n = read(read_.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n <= 0) {
      ended_ = true;
      break;
    }
    const int64_t stored = Store(buffer, std::min<int64_t>(n, limit_ - bytes_));
    bytes_ += stored;
    cut_ += n - stored;
    if (refusal_ != 0) missing_ += n - stored;
    taken += n;
  }
  if (ended_) file_.Reset();
  return taken;
}

int64_t OutputStream::Finish() {
  if (!read_.ok()) ended_ = true;
  int64_t taken = 0;
  for (int64_t more = 1; !ended_ && more > 0; taken += more) more = Pump();
  ended_ = true;
  read_.Reset();
  file_.Reset();
  return taken;
}

bool OutputStream::EndIfUnused() {
  if (ended_) return true;
  if (file_.ok() || bytes_ > 0 || cut_ > 0) return false;
  pollfd pipe{.fd = read_.get(), .events = POLLIN, .revents = 0};
  ended_ = poll(&pipe, 1, 0) == 1 && pipe.revents == POLLHUP;
  return ended_;
}

OutputGrown OutputStream::State() const {
  return {
      .rank = rank_, .is_stderr = is_stderr_, .bytes = bytes_, .cut_bytes = cut_, .ended = ended_};
}

}  // namespace hpc::worker
