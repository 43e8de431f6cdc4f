#include "worker/runtime/store_port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <sys/socket.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"

namespace hpc::worker {
namespace {

// A port that is free now. Another program may take it before rank 0 does; only rank-0 hosting
// runs that risk.
absl::StatusOr<int> FindFreePort(const std::string& address) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(address.c_str(), "0", &hints, &found); error != 0) {
    return absl::UnavailableError(
        absl::StrCat("'", address, "' is no IP address: ", gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> info(found, &freeaddrinfo);
  const UniqueFd fd(socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (!fd.ok() || bind(fd.get(), info->ai_addr, info->ai_addrlen) != 0 ||
      getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) {
    return absl::UnavailableError(
        std::string(ErrnoStatus(errno, absl::StrCat("bind a port of ", address)).message()));
  }
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                           : reinterpret_cast<sockaddr_in*>(&bound)->sin_port);
}

}  // namespace

absl::StatusOr<StorePort> OpenStorePort(EventLoop* loop, const Prepare& prepare) {
  StorePort out;
  out.address = prepare.peers.at(static_cast<size_t>(prepare.node_rank)).address;
  // A launcher that runs as the command hosts a store of its own.
  if (prepare.mode == LaunchMode::kPerNode || prepare.store_host == StoreHost::kRank0) {
    HPC_ASSIGN_OR_RETURN(out.port, FindFreePort(out.address));
    return out;
  }
  StoreServerOptions options;
  options.address = out.address;
  for (const Peer& peer : prepare.peers) options.allowed_addresses.push_back(peer.address);
  // From one loopback address to another the kernel names this one as the source.
  if (absl::StartsWith(out.address, "127.")) options.allowed_addresses.push_back("127.0.0.1");
  HPC_ASSIGN_OR_RETURN(out.server, StoreServer::Listen(loop, options));
  out.port = out.server->port();
  return out;
}

}  // namespace hpc::worker
