// hpcctl sleep: drain a PC and put it to sleep.
#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/exit_codes.h"
#include "client/cli/follow/node_state.h"
#include "common/status_macros.h"

namespace hpc::client {
namespace {

class SleepCommand : public Command {
 public:
  void Declare(Options* options) override {
    options->Details(
        "What runs there is ended and queued again, then the PC runs its power command. A run "
        "that\n"
        "needs it while it sleeps wakes it, unless it was ended for this: which one waits already "
        "is\n"
        "said. 'hpcctl reclaim' keeps runs away.");
    options->Argument("NODE", &node_, "name of the PC");
    options->Example("hpcctl sleep pc2");
  }

  absl::StatusOr<int> Run(Session* session) override {
    HPC_ASSIGN_OR_RETURN(Client * client, session->Connect());
    const absl::StatusOr<v1::SleepResponse> response = client->Sleep(node_);
    if (absl::IsFailedPrecondition(response.status())) {
      return AlreadySo(session, client, node_, {"off"}, response.status());
    }
    HPC_RETURN_IF_ERROR(response.status());
    session->out().Write(absl::StrCat(node_, " is going to sleep\n"));
    if (!response->why_not_woken().empty()) {
      session->Notice(absl::StrCat("warning: ", response->why_not_woken()));
    }
    if (const int64_t run = response->woken_for(); run != 0) {
      session->Notice(
          absl::StrCat("warning: run ", run, " waits for a node like it, and will wake ",
                       "it as soon as it is off. 'hpcctl reclaim ", node_,
                       "' instead keeps runs away, 'hpcctl cancel ", run, "' ends that one"));
    }
    return kExitOk;
  }

 private:
  std::string node_;
};

}  // namespace

std::unique_ptr<Command> MakeSleep() { return std::make_unique<SleepCommand>(); }

}  // namespace hpc::client
