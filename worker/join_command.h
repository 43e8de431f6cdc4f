// `hpc-worker join TOKEN`: makes this PC a member of a cluster.
#ifndef HPC_WORKER_JOIN_COMMAND_H_
#define HPC_WORKER_JOIN_COMMAND_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "worker/command_line.h"

namespace hpc::worker {

// What to print. Needs the state directory to itself: a running worker would not notice that it has
// become a member. Errors: those of member::Join and StateDir::Open; this PC is as it was then.
absl::StatusOr<std::string> RunJoinCommand(const CommandLine& command, absl::Time now);

}  // namespace hpc::worker

#endif  // HPC_WORKER_JOIN_COMMAND_H_
