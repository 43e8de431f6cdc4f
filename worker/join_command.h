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

// What to print. `start_unit` (worker_unit.h) starts the installed worker, whose state directory is
// the usual one; where there is none, or it does not start, what to do is part of the answer. Needs
// the state directory to itself: a running worker would not notice that it has become a member.
// Errors: those of member::Join and StateDir::Open; this PC is as it was then.
absl::StatusOr<std::string> RunJoinCommand(const CommandLine& command, absl::Time now,
                                           const std::function<absl::Status()>& start_unit);

}  // namespace hpc::worker

#endif  // HPC_WORKER_JOIN_COMMAND_H_
