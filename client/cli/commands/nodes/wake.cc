// hpcctl wake: wake a sleeping PC.
#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/exit_codes.h"
#include "client/cli/follow/node_state.h"
#include "common/status_macros.h"

namespace hpc::client {
namespace {

class WakeCommand : public Command {
 public:
  void Declare(Options* options) override {
    options->Details("Sends Wake-on-LAN packets to it, or runs its wake hook.");
    options->Argument("NODE", &node_, "name of the PC");
    options->Example("hpcctl wake pc2");
  }

  absl::StatusOr<int> Run(Session* session) override {
    HPC_ASSIGN_OR_RETURN(Client * client, session->Connect());
    const absl::Status status = client->Wake(node_);
    if (absl::IsFailedPrecondition(status)) {
      return AlreadySo(session, client, node_, {"idle", "busy", "reclaimed", "returning"}, status);
    }
    HPC_RETURN_IF_ERROR(status);
    session->out().Write(absl::StrCat(node_, " is being woken\n"));
    return kExitOk;
  }

 private:
  std::string node_;
};

}  // namespace

std::unique_ptr<Command> MakeWake() { return std::make_unique<WakeCommand>(); }

}  // namespace hpc::client
