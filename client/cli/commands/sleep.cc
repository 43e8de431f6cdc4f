// hpcctl sleep: drain a PC and put it to sleep.
#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/exit_codes.h"
#include "client/cli/node_state.h"
#include "common/status_macros.h"

namespace hpc::client {
namespace {

class SleepCommand : public Command {
 public:
  void Declare(Options* options) override {
    options->Details(
        "What runs there is ended and queued again, then the PC runs its power command. It may be\n"
        "given work while it sleeps, and is then woken.");
    options->Argument("NODE", &node_, "name of the PC");
    options->Example("hpcctl sleep pc2");
  }

  absl::StatusOr<int> Run(Session* session) override {
    HPC_ASSIGN_OR_RETURN(Client * client, session->Connect());
    const absl::Status status = client->Sleep(node_);
    if (absl::IsFailedPrecondition(status)) {
      return AlreadySo(session, client, node_, {"off"}, status);
    }
    HPC_RETURN_IF_ERROR(status);
    session->out().Write(absl::StrCat(node_, " is going to sleep\n"));
    return kExitOk;
  }

 private:
  std::string node_;
};

}  // namespace

std::unique_ptr<Command> MakeSleep() { return std::make_unique<SleepCommand>(); }

}  // namespace hpc::client
