// Runs a short helper program and gathers what it says.
#ifndef HPC_WORKER_OS_RUN_COMMAND_H_
#define HPC_WORKER_OS_RUN_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace hpc::worker {

struct Command {
  std::string program;            // path, for execve
  std::vector<std::string> argv;  // with argv[0]
  std::vector<std::string> env;   // complete, "KEY=VALUE"
  absl::Duration limit = absl::Seconds(5);
};

struct CommandResult {
  int wait_status = 0;  // as of waitpid
  std::string output;   // stdout and stderr as they came, at most 1 MiB
  bool ok() const { return wait_status == 0; }
  // "exit code 3", "signal 9 (Killed)".
  std::string HowItEnded() const;
  // The last line of the output that is not empty, in valid UTF-8.
  std::string LastWords() const;
};

// Runs in "/" with stdin at its end, in a process group of its own, with no descriptor but the
// standard three. Whatever is left of the group when the program has ended keeps running, unheard.
// Never forks, so a caller with gigabytes of memory pays nothing.
// Status: ErrnoStatus if it could not be started; DeadlineExceeded: it ran longer than `limit`, got
// SIGTERM and half a second later SIGKILL, as the rest of its group.
absl::StatusOr<CommandResult> RunCommand(const Command& command);

// This process's environment.
std::vector<std::string> OwnEnvironment();

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_RUN_COMMAND_H_
