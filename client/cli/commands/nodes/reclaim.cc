// hpcctl reclaim: give a PC back to its owner.
#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/exit_codes.h"
#include "client/cli/follow/node_state.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace hpc::client {
namespace {

class ReclaimCommand : public Command {
 public:
  void Declare(Options* options) override {
    options->Details(
        "What runs there is asked to end, and ended after the grace; its runs are queued again,\n"
        "which does not count as their failure. Nothing is placed there until the PC is lent.\n"
        "Given again, it changes the time and the reason, and a shorter --grace counts at once.");
    options->Argument("NODE", &node_, "name of the PC");
    options->Duration("--for", "2h", &for_, "lend it again by itself after so long");
    options->Text("--reason", "TEXT", &reason_, "shown to those whose runs must wait");
    options->Duration("--grace", "10s", &grace_, "from asking to ending (default 10s)");
    options->Example("hpcctl reclaim pc2 --for 2h --reason gaming");
  }

  absl::StatusOr<int> Run(Session* session) override {
    v1::ReclaimRequest request;
    request.set_node(node_);
    request.set_reason(reason_);
    if (for_) request.set_for_ms(absl::ToInt64Milliseconds(*for_));
    if (grace_) request.set_grace_ms(absl::ToInt64Milliseconds(*grace_));
    HPC_ASSIGN_OR_RETURN(Client * client, session->Connect());
    HPC_RETURN_IF_ERROR(client->Reclaim(request));
    session->out().Write(absl::StrCat(node_, " goes back to its owner",
                                      for_ ? absl::StrCat(" for ", HumanDuration(*for_))
                                           : absl::StrCat(" until 'hpcctl lend ", node_, "'"),
                                      "\n"));
    if (NodeStateOf(client, node_) == "lost") {
      session->Notice(
          absl::StrCat(node_,
                       " is lost, and hears of it when it is back. What may still run "
                       "there stops by itself; 'hpc-worker reclaim' there stops it now"));
    }
    return kExitOk;
  }

 private:
  std::string node_, reason_;
  std::optional<absl::Duration> for_, grace_;
};

}  // namespace

std::unique_ptr<Command> MakeReclaim() { return std::make_unique<ReclaimCommand>(); }

}  // namespace hpc::client
