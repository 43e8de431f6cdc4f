#include "common/net/dial.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace hpc {
namespace {

using AddrInfoPtr = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

absl::Status NoAnswer() { return absl::DeadlineExceededError("it does not answer"); }

absl::StatusOr<UniqueFd> ConnectTo(const addrinfo& address, MonoTime deadline, int stop_fd) {
  UniqueFd fd(socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) return absl::UnavailableError(std::strerror(errno));
  if (connect(fd.get(), address.ai_addr, address.ai_addrlen) != 0 && errno != EINPROGRESS) {
    return absl::UnavailableError(std::strerror(errno));
  }
  HPC_RETURN_IF_ERROR(Await(fd.get(), POLLOUT, deadline, stop_fd));
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return absl::UnavailableError(std::strerror(error));
  return fd;
}

}  // namespace

UniqueFd DialUnix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    errno = ENAMETOOLONG;
    return UniqueFd();
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.ok()) return fd;
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    const int error = errno;
    fd.Reset();
    errno = error;
  }
  return fd;
}

absl::Status Await(int fd, short events, MonoTime deadline,  // NOLINT: poll's type
                   int stop_fd) {
  while (true) {
    const auto left = absl::ToInt64Milliseconds(deadline - RealClock().Get().mono);
    if (left <= 0) return NoAnswer();
    pollfd waiting[] = {{.fd = fd, .events = events, .revents = 0},
                        {.fd = stop_fd, .events = POLLIN, .revents = 0}};
    const int ready = poll(waiting, 2, static_cast<int>(left));
    if (waiting[1].revents != 0) return absl::CancelledError("interrupted");
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) return absl::UnavailableError(std::strerror(errno));
  }
}

absl::StatusOr<UniqueFd> Dial(const Endpoint& endpoint, MonoTime deadline, int stop_fd) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(endpoint.host.c_str(), absl::StrCat(endpoint.port).c_str(), &hints, &found);
  if (error != 0) return absl::UnavailableError(gai_strerror(error));
  const AddrInfoPtr addresses(found, &freeaddrinfo);
  absl::StatusOr<UniqueFd> fd = absl::UnavailableError("the host has no address");
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    fd = ConnectTo(*one, deadline, stop_fd);
    if (fd.ok() || absl::IsCancelled(fd.status())) return fd;
  }
  return fd;
}

}  // namespace hpc
