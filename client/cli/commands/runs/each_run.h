// A command that does the same to several runs.
#ifndef HPC_CLIENT_CLI_COMMANDS_RUNS_EACH_RUN_H_
#define HPC_CLIENT_CLI_COMMANDS_RUNS_EACH_RUN_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "client/cli/session.h"

namespace hpc::client {

// Calls `act` for each run in order and returns the exit code. One that fails does not save the
// others: its error is shown, and the code is that of the last error. Of a single run the error is
// returned, as is one that says that the coordinator is away or that the user has typed Ctrl-C.
absl::StatusOr<int> ForEachRun(Session* session, const std::vector<int64_t>& runs,
                               absl::FunctionRef<absl::Status(int64_t run)> act);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_COMMANDS_RUNS_EACH_RUN_H_
