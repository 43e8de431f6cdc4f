#include "coordinator/rpc/doors/listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/files/files.h"
#include "common/net/dial.h"
#include "common/net/endpoint.h"
#include "common/status_macros.h"

namespace hpc::coordinator {
namespace {

constexpr int kBacklog = 1024;

absl::StatusOr<UniqueFd> BindTo(const addrinfo& address, const std::string& name) {
  UniqueFd fd(socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.ok()) return ErrnoStatus(errno, absl::StrCat("open a socket for ", name));
  const int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(fd.get(), address.ai_addr, address.ai_addrlen) == 0 && listen(fd.get(), kBacklog) == 0) {
    return fd;
  }
  if (errno == EADDRINUSE) {
    return absl::AlreadyExistsError(absl::StrCat(
        "cannot listen on ", name, ": another program uses that port; choose another one with",
        " --listen, or find the program with: ss -ltnp"));
  }
  if (errno == EADDRNOTAVAIL) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot listen on ", name, ": no interface of this machine has that address"));
  }
  return ErrnoStatus(errno, absl::StrCat("listen on ", name));
}

int PortOf(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  // The port is at the same offset for both families.
  return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

}  // namespace

absl::StatusOr<TcpListener> ListenOn(const Endpoint& endpoint) {
  const std::string name = endpoint.ToString();
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &hints, &found);
  if (error != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot listen on ", name, ": ", gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  HPC_ASSIGN_OR_RETURN(UniqueFd fd, BindTo(*found, name));
  const int port = PortOf(fd.get());
  return TcpListener{std::move(fd), port};
}

namespace {

absl::Status CheckSocketPath(const std::string& path) {
  if (path.size() > kMaxSocketPath) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the socket's path ", path, " has ", path.size(), " characters, the kernel allows ",
        kMaxSocketPath, "; choose a shorter one with --socket"));
  }
  const std::string folder = path.substr(0, path.rfind('/'));
  struct stat info;
  if (!folder.empty() && folder != path && stat(folder.c_str(), &info) != 0) {
    return ErrnoStatus(errno, absl::StrCat("listen on ", path, ": its folder"));
  }
  if (lstat(path.c_str(), &info) != 0) return absl::OkStatus();
  if (!S_ISSOCK(info.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot listen on ", path, ": it exists and is not a socket"));
  }
  const UniqueFd fd = DialUnix(path);
  if (fd.ok() || errno == EAGAIN) {
    return absl::AlreadyExistsError(
        absl::StrCat("cannot listen on ", path,
                     ": another coordinator answers there; choose another path with", " --socket"));
  }
  return absl::OkStatus();  // a killed coordinator left it; it is replaced
}

}  // namespace

absl::StatusOr<UniqueFd> ListenAt(const std::string& path) {
  HPC_RETURN_IF_ERROR(CheckSocketPath(path));
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.ok()) return ErrnoStatus(errno, absl::StrCat("open a socket for ", path));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, path.c_str(), path.size() + 1);
  unlink(path.c_str());
  // Everybody may connect; the kernel tells who they are.
  const mode_t mask = umask(0111);
  const int bound = bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address));
  const int error = errno;
  umask(mask);
  if (bound != 0) return ErrnoStatus(error, absl::StrCat("listen on ", path));
  if (listen(fd.get(), kBacklog) != 0) return ErrnoStatus(errno, absl::StrCat("listen on ", path));
  return fd;
}

}  // namespace hpc::coordinator
