// Listening sockets, and what can be wrong with them in words.
#ifndef HPC_COORDINATOR_RPC_DOORS_LISTEN_H_
#define HPC_COORDINATOR_RPC_DOORS_LISTEN_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/net/endpoint.h"
#include "common/unique_fd.h"

namespace hpc::coordinator {

struct TcpListener {
  UniqueFd fd;   // non-blocking
  int port = 0;  // the one that was asked for, or that the kernel chose
};

// AlreadyExists: the port is in use. InvalidArgument: no interface has the address, or it is none.
absl::StatusOr<TcpListener> ListenOn(const Endpoint& endpoint);

// A Unix socket that every local user can connect to; one that a killed coordinator left is
// replaced. InvalidArgument: longer than the kernel allows. AlreadyExists: somebody answers there.
// FailedPrecondition: it is something else than a socket. NotFound: its folder does not exist.
absl::StatusOr<UniqueFd> ListenAt(const std::string& path);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_DOORS_LISTEN_H_
