// Runs a short helper program and collects what it says.
#ifndef HPC_WORKER_OS_RUN_COMMAND_H_
#define HPC_WORKER_OS_RUN_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace hpc::worker {

struct Command {
  std::string program;            // path, for execve
  std::vector<std::string> argv;  // including argv[0]
  std::vector<std::string> env;   // complete, as "KEY=VALUE"
  absl::Duration limit = absl::Seconds(5);
};

struct CommandResult {
  int wait_status = 0;  // as waitpid gives it
  std::string output;   // stdout and stderr in the order they came, at most 1 MiB
  bool ok() const { return wait_status == 0; }
  // For example "exit code 3", "signal 9 (Killed)".
  std::string HowItEnded() const;
  // The last line of the output that is not empty, in valid UTF-8.
  std::string LastWords() const;
};

// Runs the program in "/" with an empty stdin, in a process group of its own, and with no
// descriptors except the standard three. If something of the group is left when the program has
// ended, it keeps running and its output is not read. Never forks, so a caller with gigabytes of
// memory pays nothing. Errors: ErrnoStatus if it could not be started. DeadlineExceeded: it ran
// longer than `limit`; it and its group got SIGTERM, and half a second later SIGKILL.
absl::StatusOr<CommandResult> RunCommand(const Command& command);

// This process's environment.
std::vector<std::string> OwnEnvironment();

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_RUN_COMMAND_H_
