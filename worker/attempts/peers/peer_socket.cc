#include "worker/attempts/peers/peer_socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "absl/strings/match.h"
#include "common/files/files.h"
#include "common/status_macros.h"
#include "worker/rendezvous/ip_address.h"

namespace hpc::worker {

using store::ParseIp;
using store::SocketAddress;

absl::StatusOr<UniqueFd> ConnectToPeer(const std::string& from, const std::string& to, int port) {
  HPC_ASSIGN_OR_RETURN(const SocketAddress theirs, ParseIp(to, port));
  HPC_ASSIGN_OR_RETURN(const SocketAddress ours, ParseIp(from, 0));
  UniqueFd fd(socket(theirs.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.ok()) return ErrnoStatus(errno, "open a socket");
  const int on = 1;
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // The address may not be this machine's own, if others reach it through something in between.
  // Then the bind fails and the kernel chooses an address, as it does for ranks.
  (void)bind(fd.get(), ours.get(), ours.size);
  if (connect(fd.get(), theirs.get(), theirs.size) != 0 && errno != EINPROGRESS) {
    return ErrnoStatus(errno, "connect to " + to);
  }
  return fd;
}

std::vector<std::string> PeerAddresses(const protocol::Prepare& prepare) {
  std::vector<std::string> addresses;
  for (const protocol::Peer& peer : prepare.peers) {
    const auto address = ParseIp(peer.address, 0);
    addresses.push_back(address.ok() ? address->CanonicalIp() : peer.address);
  }
  // For a connection from one loopback address to another, the kernel uses this one as the source.
  const std::string& own = prepare.peers.at(static_cast<size_t>(prepare.node_rank)).address;
  if (absl::StartsWith(own, "127.")) addresses.push_back("127.0.0.1");
  return addresses;
}

}  // namespace hpc::worker
