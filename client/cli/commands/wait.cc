// hpcctl wait: stay with a run until it is over, without its output.
#include "client/cli/commands.h"
#include "client/cli/follower.h"
#include "common/status_macros.h"

namespace hpc::client {
namespace {

class WaitCommand : public Command {
 public:
  void Declare(Options* options) override {
    options->Details("Exits as 'hpcctl run' does: with the run's own exit code.");
    options->RunArgument(&run_);
    options->Example("hpcctl wait 12");
  }

  absl::StatusOr<int> Run(Session* session) override {
    HPC_ASSIGN_OR_RETURN(Client * client, session->Connect());
    return Follower(session, run_, std::nullopt).FollowToEnd(client);
  }

 private:
  int64_t run_ = 0;
};

}  // namespace

std::unique_ptr<Command> MakeWait() { return std::make_unique<WaitCommand>(); }

}  // namespace hpc::client
