// hpcctl lend: lend a PC to the cluster again.
#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/exit_codes.h"
#include "common/status_macros.h"

namespace hpc::client {
namespace {

class LendCommand : public Command {
 public:
  void Declare(Options* options) override {
    options->Argument("NODE", &node_, "name of the PC");
    options->Example("hpcctl lend pc2");
  }

  absl::StatusOr<int> Run(Session* session) override {
    HPC_ASSIGN_OR_RETURN(Client * client, session->Connect());
    HPC_RETURN_IF_ERROR(client->Lend(node_));
    session->out().Write(absl::StrCat(node_, " is lent to the cluster\n"));
    return kExitOk;
  }

 private:
  std::string node_;
};

}  // namespace

std::unique_ptr<Command> MakeLend() { return std::make_unique<LendCommand>(); }

}  // namespace hpc::client
