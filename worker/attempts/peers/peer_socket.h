// TCP to the other nodes of a gang, which admit only the addresses of its nodes.
#ifndef HPC_WORKER_ATTEMPTS_PEERS_PEER_SOCKET_H_
#define HPC_WORKER_ATTEMPTS_PEERS_PEER_SOCKET_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"
#include "protocol/prepare.h"

namespace hpc::worker {

// Begins to connect, from our address `from` if it belongs to this machine. InvalidArgument: one of
// the addresses is malformed.
absl::StatusOr<UniqueFd> ConnectToPeer(const std::string& from, const std::string& to, int port);

// The addresses from which nodes of the attempt connect to this one, each in its canonical form.
std::vector<std::string> PeerAddresses(const protocol::Prepare& prepare);

}  // namespace hpc::worker

#endif  // HPC_WORKER_ATTEMPTS_PEERS_PEER_SOCKET_H_
