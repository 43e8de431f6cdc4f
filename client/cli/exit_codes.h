// The exit codes of hpcctl. docs/CLI.md shows this list to users; codes below 120 and above 128 are
// the run's own.
#ifndef HPC_CLIENT_CLI_EXIT_CODES_H_
#define HPC_CLIENT_CLI_EXIT_CODES_H_

#include "absl/status/status.h"
#include "hpc/v1/run.pb.h"

namespace hpc::client {

inline constexpr int kExitOk = 0;
inline constexpr int kExitOutput = 1;         // the output could not be written
inline constexpr int kExitUsage = 2;          // the command line was not understood
inline constexpr int kExitUnreachable = 120;  // no answer from the coordinator
inline constexpr int kExitRefused = 121;      // the coordinator refused the request
inline constexpr int kExitCancelled = 122;    // the run was cancelled
inline constexpr int kExitDetached = 123;     // Ctrl-C twice: the run goes on without us
inline constexpr int kExitTimedOut = 124;     // the run met its time limit
// 126: a node found that the command is not executable. 127: a node found that there is no such
// command. These two come from the run like any other code of its own.

// Returns the code for a command that ended with an error.
int ExitCodeOf(const absl::Status& status);

// Returns the code for a run that is over.
int ExitCodeOf(const v1::Run& run);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_EXIT_CODES_H_
