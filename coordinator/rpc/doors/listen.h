// Listening sockets, with errors that say in words what is wrong.
#ifndef HPC_COORDINATOR_RPC_DOORS_LISTEN_H_
#define HPC_COORDINATOR_RPC_DOORS_LISTEN_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/net/endpoint.h"
#include "common/unique_fd.h"

namespace hpc::coordinator {

struct TcpListener {
  UniqueFd fd;   // non-blocking
  int port = 0;  // the port that was asked for, or that the kernel chose
};

// AlreadyExists: the port is in use. InvalidArgument: no interface has this address, or it is not
// an address.
absl::StatusOr<TcpListener> ListenOn(const Endpoint& endpoint);

// Makes a Unix socket that every local user can connect to. A socket that a killed coordinator left
// is replaced. InvalidArgument: the path is longer than the kernel allows. AlreadyExists: somebody
// answers there. FailedPrecondition: something other than a socket is there. NotFound: the folder
// does not exist.
absl::StatusOr<UniqueFd> ListenAt(const std::string& path);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_DOORS_LISTEN_H_
