#include "worker/supervisor/say.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <utility>

namespace hpc::worker {

namespace {

bool opened = false;

}  // namespace

void BeginLog() {
  if (!std::exchange(opened, false)) return;
  const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (null < 0) return;
  dup2(null, STDERR_FILENO);
  close(null);
}

void OpenLog() {
  if (std::exchange(opened, true)) return;
  // With these flags, opening is not held up by what a rank may have put there.
  constexpr int kFlags =
      O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  const int fd = open("supervisor.log", kFlags, 0600);
  if (fd < 0) return;
  dup2(fd, STDERR_FILENO);
  close(fd);
}

void Say(const std::string& line) {
  OpenLog();
  const std::string whole = line + "\n";
  (void)!write(STDERR_FILENO, whole.data(), whole.size());
}

std::string InWords(const std::string& what) {
  const int error = errno;
  return what + ": " + strerror(error);
}

bool SayErrno(const std::string& what) {
  Say(InWords(what));
  return false;
}

}  // namespace hpc::worker
