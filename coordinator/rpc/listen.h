// What can be wrong with an address to listen at, in words. gRPC says only that it failed.
#ifndef HPC_COORDINATOR_RPC_LISTEN_H_
#define HPC_COORDINATOR_RPC_LISTEN_H_

#include <string>

#include "absl/status/status.h"
#include "common/endpoint.h"

namespace hpc::coordinator {

// Why this cannot be bound now; OK if it can.
absl::Status CheckCanListen(const Endpoint& endpoint);

// InvalidArgument: longer than the kernel allows. AlreadyExists: somebody answers there.
// FailedPrecondition: it is something else than a socket. NotFound: its folder does not exist.
absl::Status CheckSocketPath(const std::string& path);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_LISTEN_H_
