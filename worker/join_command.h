// `hpc-worker join TOKEN`: makes this PC a member of a cluster.
#ifndef HPC_WORKER_JOIN_COMMAND_H_
#define HPC_WORKER_JOIN_COMMAND_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "worker/command_line.h"

namespace hpc::worker {

// Returns text to print. `start_unit` (worker_unit.h) starts the installed worker, which uses the
// default state directory. If there is no unit, or it does not start, the text says what to do.
// Joining needs the state directory for itself, since a running worker would not notice that it has
// become a member. Errors are those of member::Join and StateDir::Open; then this PC is unchanged.
absl::StatusOr<std::string> RunJoinCommand(const CommandLine& command, absl::Time now,
                                           const std::function<absl::Status()>& start_unit);

}  // namespace hpc::worker

#endif  // HPC_WORKER_JOIN_COMMAND_H_
