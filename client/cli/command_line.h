// Runs a command line, from its words to an exit code.
#ifndef HPC_CLIENT_CLI_COMMAND_LINE_H_
#define HPC_CLIENT_CLI_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "client/cli/session.h"

namespace hpc::client {

// `words` come without the program's name. Everything has been flushed when it returns.
int RunCommandLine(const std::vector<std::string>& words, Session* session);

// Returns all commands by group, as `hpcctl help` shows them.
std::string Overview();

// Returns the help of one command. If only the first word of a family is given, returns the help of
// all its commands. Otherwise it is a usage error that suggests the nearest command.
absl::StatusOr<std::string> HelpOf(const std::vector<std::string>& command);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_COMMAND_LINE_H_
