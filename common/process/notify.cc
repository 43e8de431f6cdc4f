#include "common/process/notify.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/unique_fd.h"

namespace hpc {

void NotifySystemd(absl::string_view state) {
  const char* path = getenv("NOTIFY_SOCKET");
  sockaddr_un address{};
  if (path == nullptr || path[0] == '\0' || strlen(path) >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, path, strlen(path));
  if (path[0] == '@') address.sun_path[0] = '\0';  // abstract namespace
  const UniqueFd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd.ok()) return;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + strlen(path));
  // It is systemd's business, not ours, if nobody listens.
  (void)!sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL,
                reinterpret_cast<const sockaddr*>(&address), length);
}

absl::Status CheckReadyFd(int fd) {
  if (fd == -1 || fcntl(fd, F_GETFD) != -1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--ready-fd ", fd, ": no such descriptor is open; whoever starts this opens it"));
}

void NotifyReadyFd(int fd, absl::string_view line) {
  if (fd < 0) return;
  const std::string text = absl::StrCat(line, "\n");
  (void)!write(fd, text.data(), text.size());
  close(fd);
}

}  // namespace hpc
