// IP addresses of the store's socket and of its peers.
#ifndef HPC_WORKER_RENDEZVOUS_IP_ADDRESS_H_
#define HPC_WORKER_RENDEZVOUS_IP_ADDRESS_H_

#include <sys/socket.h>

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace hpc::worker::store {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  int port() const;
  // Gives each address one text: it has no scope, and ::ffff:10.0.0.1 becomes 10.0.0.1.
  std::string CanonicalIp() const;
  bool IsWildcard() const;
};

// Parses an IPv4 or IPv6 literal (fe80::1%eth0, too). InvalidArgument if it is not one: names are
// not looked up, since each PC may know another address by the same name.
absl::StatusOr<SocketAddress> ParseIp(absl::string_view literal, int port);

}  // namespace hpc::worker::store

#endif  // HPC_WORKER_RENDEZVOUS_IP_ADDRESS_H_
