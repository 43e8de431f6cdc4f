// From the words of a command line to an exit code.
#ifndef HPC_CLIENT_CLI_COMMAND_LINE_H_
#define HPC_CLIENT_CLI_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "client/cli/session.h"

namespace hpc::client {

// `words` without the program's name. Everything has been flushed when it returns.
int RunCommandLine(const std::vector<std::string>& words, Session* session);

// All commands by group, as `hpcctl help` shows them.
std::string Overview();

// The help of one command, or of those whose first word is the only one given; else a usage error
// that suggests the nearest.
absl::StatusOr<std::string> HelpOf(const std::vector<std::string>& command);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_COMMAND_LINE_H_
