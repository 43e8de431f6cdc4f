// hpcctl node forget: take a PC that is gone off the list.
#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/exit_codes.h"
#include "common/status_macros.h"

namespace hpc::client {
namespace {

class NodeForgetCommand : public Command {
 public:
  void Declare(Options* options) override {
    options->Details(
        "For a PC that was sold, stolen, renamed or set up anew: it is in no listing any more, and "
        "no\n"
        "run waits for it. The runs that ran there name it still. It is no lock: a worker whose\n"
        "certificate is good is a node again as soon as it connects; 'hpcctl cert revoke\n"
        "worker/NODE' shuts it out. One that was shut out is let in again by a token for its "
        "name.");
    options->Argument("NODE", &node_, "name of the PC");
    options->Example("hpcctl node forget pc3");
  }

  absl::StatusOr<int> Run(Session* session) override {
    HPC_ASSIGN_OR_RETURN(Client * client, session->Connect());
    HPC_RETURN_IF_ERROR(client->Forget(node_));
    session->out().Write(absl::StrCat(node_, " is forgotten\n"));
    return kExitOk;
  }

 private:
  std::string node_;
};

}  // namespace

std::unique_ptr<Command> MakeNodeForget() { return std::make_unique<NodeForgetCommand>(); }

}  // namespace hpc::client
