// hpcctl help: all commands, or one of them.
#include "client/cli/command_line.h"
#include "client/cli/commands.h"
#include "client/cli/exit_codes.h"
#include "common/status_macros.h"

namespace hpc::client {
namespace {

class HelpCommand : public Command {
 public:
  void Declare(Options* options) override {
    options->Argument("COMMAND", &first_, "the command to explain", /*required=*/false);
    options->Argument("WORD", &second_, "its second word, where it has two", /*required=*/false);
    options->Example("hpcctl help run");
  }

  absl::StatusOr<int> Run(Session* session) override {
    std::string text = Overview();
    std::vector<std::string> command;
    for (const std::string& word : {first_, second_}) {
      if (!word.empty()) command.push_back(word);
    }
    if (!command.empty()) {
      HPC_ASSIGN_OR_RETURN(text, HelpOf(command));
    }
    session->out().Write(text);
    return kExitOk;
  }

 private:
  std::string first_, second_;
};

}  // namespace

std::unique_ptr<Command> MakeHelp() { return std::make_unique<HelpCommand>(); }

}  // namespace hpc::client
