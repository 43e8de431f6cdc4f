#include "client/cli/forms/output.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "common/files/files.h"
#include "common/text.h"

namespace hpc::client {
namespace {

constexpr size_t kFlushBytes = 64 << 10;

bool WantsColours() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool dumb = term == nullptr || absl::string_view(term) == "dumb";
  return !dumb && (no_colour == nullptr || *no_colour == '\0');
}

mode_t TypeOf(int fd) {
  struct stat is = {};
  return fstat(fd, &is) == 0 ? is.st_mode & S_IFMT : 0;
}

// A pipe or terminal, opened once more so that a write never waits: set on `fd` itself, this would
// be so for everybody who has it. -1 for anything else, and where it is another account's.
int OpenedOnceMore(int fd) {
  const mode_t type = TypeOf(fd);
  if (type != S_IFIFO && type != S_IFCHR) return -1;
  return open(absl::StrCat("/proc/self/fd/", fd).c_str(),
              O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

// Where a write may wait, no more than a pipe that has room takes without that.
size_t AtOnce(int fd) {
  const mode_t type = TypeOf(fd);
  return type == S_IFIFO || type == S_IFCHR ? PIPE_BUF : SIZE_MAX;
}

}  // namespace

Output::Output(int fd, bool terminal, bool colours, int width)
    : own_(OpenedOnceMore(fd)),
      fd_(own_.ok() ? own_.get() : fd),
      socket_(TypeOf(fd) == S_IFSOCK),
      at_once_(own_.ok() ? SIZE_MAX : AtOnce(fd)),
      terminal_(terminal),
      colours_(colours),
      width_(width) {}

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
    if (!AwaitRoom()) {
      status_ = absl::DeadlineExceededError(
          absl::StrCat("write the output: nobody has read any of it for ",
                       HumanDuration(absl::Milliseconds(patience_ms_.load()))));
      return;
    }
    const ssize_t n = WriteSome(text);
    if (n >= 0) {
      text.remove_prefix(static_cast<size_t>(n));
    } else if (errno != EAGAIN && errno != EINTR) {
      status_ = ErrnoStatus(errno, "write the output");
    }
  }
}

ssize_t Output::WriteSome(absl::string_view text) const {
  if (socket_) return send(fd_, text.data(), text.size(), MSG_DONTWAIT);
  return write(fd_, text.data(), std::min(text.size(), at_once_));
}

bool Output::AwaitRoom() const {
  while (true) {
    pollfd fds[] = {{fd_, POLLOUT, 0}, {hurry_.fd(), POLLIN, 0}};
    const int ready = poll(fds, 2, patience_ms_);
    if (fds[0].revents != 0) return true;
    if (ready == 0) return false;
    hurry_.Silence();
  }
}

void Output::WaitAtMost(absl::Duration patience) {
  patience_ms_ = static_cast<int>(absl::ToInt64Milliseconds(patience));
  hurry_.Ring();
}

void Output::Interject(absl::string_view text) const {
  pollfd room = {fd_, POLLOUT, 0};
  if (poll(&room, 1, 0) != 1) return;
  if (WriteSome(text) < 0) return;  // nobody left to tell
}

}  // namespace hpc::client
