#include "client/cli/show/output.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "common/files/files.h"

namespace hpc::client {
namespace {

constexpr size_t kFlushBytes = 64 << 10;

bool WantsColours() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool dumb = term == nullptr || absl::string_view(term) == "dumb";
  return !dumb && (no_colour == nullptr || *no_colour == '\0');
}

}  // namespace

Output Output::ForFd(int fd) {
  if (isatty(fd) == 0) return Output(fd, false, false, 0);
  winsize size = {};
  const bool known = ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return Output(fd, true, WantsColours(), known ? size.ws_col : 80);
}

Output Output::ToText(int width) { return Output(-1, width > 0, width > 0, width); }

bool Output::SharesWith(const Output& other) const {
  struct stat mine = {}, theirs = {};
  return fstat(fd_, &mine) == 0 && fstat(other.fd_, &theirs) == 0 && mine.st_dev == theirs.st_dev &&
         mine.st_ino == theirs.st_ino;
}

void Output::Write(absl::string_view text) {
  absl::MutexLock lock(&mutex_);
  if (!status_.ok()) return;
  if (fd_ >= 0 && buffer_.empty() && text.size() >= kFlushBytes) return WriteLocked(text);
  buffer_.append(text.data(), text.size());
  if (buffer_.size() >= kFlushBytes) FlushLocked();
}

void Output::Flush() {
  absl::MutexLock lock(&mutex_);
  FlushLocked();
}

void Output::FlushLocked() {
  if (fd_ < 0) return;
  WriteLocked(buffer_);
  buffer_.clear();
}

void Output::WriteLocked(absl::string_view text) {
  while (!text.empty() && status_.ok()) {
    const ssize_t n = write(fd_, text.data(), text.size());
    if (n >= 0) {
      text.remove_prefix(static_cast<size_t>(n));
    } else if (errno == EAGAIN) {
      pollfd wait = {fd_, POLLOUT, 0};
      poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      status_ = ErrnoStatus(errno, "write the output");
    }
  }
}

}  // namespace hpc::client
