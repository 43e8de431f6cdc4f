// Runs work on the loop's thread after a delay. There is no gRPC in here, so that handlers need
// none.
#ifndef HPC_COORDINATOR_RPC_ANSWERS_LATER_H_
#define HPC_COORDINATOR_RPC_ANSWERS_LATER_H_

#include <functional>

#include "absl/time/time.h"

namespace hpc::coordinator {

// Runs `work` on the loop's thread after `delay`, or never if the server stops before.
using Later = std::function<void(absl::Duration delay, std::function<void()> work)>;

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_ANSWERS_LATER_H_
