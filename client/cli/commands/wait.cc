// hpcctl wait: stay with runs until they are over, without their output.
#include "client/cli/commands.h"
#include "client/cli/existing_runs.h"
#include "client/cli/exit_codes.h"
#include "client/cli/follower.h"
#include "common/status_macros.h"

namespace hpc::client {
namespace {

class WaitCommand : public Command {
 public:
  void Declare(Options* options) override {
    options->Details(
        "Exits as 'hpcctl run' does: with the run's own exit code. Of several runs it waits for "
        "all,\n"
        "and exits with 0 if all succeeded, else as for the first, as they are named, that did "
        "not.");
    options->RunArguments(&runs_);
    options->Example("hpcctl wait 12");
    options->Example("hpcctl wait 12 13 14");
  }

  absl::StatusOr<int> Run(Session* session) override {
    HPC_ASSIGN_OR_RETURN(Client * client, session->Connect());
    if (runs_.size() > 1) HPC_RETURN_IF_ERROR(CheckExist(client, runs_));
    int code = kExitOk;
    for (const int64_t run : runs_) {
      HPC_ASSIGN_OR_RETURN(const int one, Follower(session, run, std::nullopt).FollowToEnd(client));
      if (code == kExitOk) code = one;
    }
    return code;
  }

 private:
  std::vector<int64_t> runs_;
};

}  // namespace

std::unique_ptr<Command> MakeWait() { return std::make_unique<WaitCommand>(); }

}  // namespace hpc::client
