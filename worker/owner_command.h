// `hpc-worker reclaim|lend|status`: asks the worker of this PC, and says what it answered.
#ifndef HPC_WORKER_OWNER_COMMAND_H_
#define HPC_WORKER_OWNER_COMMAND_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "worker/command_line.h"

namespace hpc::worker {

// Returns text to print. Errors are those of AskWorker, and FailedPrecondition with the worker's
// own words.
absl::StatusOr<std::string> RunOwnerCommand(const CommandLine& command);

// The worker's answer in words. DataLoss: it is not an answer.
absl::StatusOr<std::string> DescribeAnswer(absl::string_view answer);

}  // namespace hpc::worker

#endif  // HPC_WORKER_OWNER_COMMAND_H_
