// Errors as gRPC carries them.
#ifndef HPC_COORDINATOR_RPC_CALLS_STATUS_H_
#define HPC_COORDINATOR_RPC_CALLS_STATUS_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace hpc::coordinator {

// The codes are the same. A message that is too long for the trailing headers is cut, and says so.
grpc::Status ToGrpc(const absl::Status& status);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_CALLS_STATUS_H_
