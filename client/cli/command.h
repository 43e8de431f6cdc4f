// A command of hpcctl, and the list of all of them.
//
// To add one: a file in commands/, its factory in commands.h, a row in registry.cc.
#ifndef HPC_CLIENT_CLI_COMMAND_H_
#define HPC_CLIENT_CLI_COMMAND_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/input/options.h"
#include "client/cli/session.h"

namespace hpc::client {

class Command {
 public:
  virtual ~Command() = default;
  // Declares options, details and examples. Parsed values are stored in members of the command.
  virtual void Declare(Options* options) = 0;
  // Returns the exit code. The caller shows errors, and turns them into exit codes.
  virtual absl::StatusOr<int> Run(Session* session) = 0;
};

struct CommandInfo {
  const char* name;     // one word, or two: "token create"
  const char* group;    // the group of the overview
  const char* summary;  // one line
  std::unique_ptr<Command> (*make)();
};

// Returns all commands in the order of the overview.
const std::vector<CommandInfo>& AllCommands();

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_COMMAND_H_
