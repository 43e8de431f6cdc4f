// hpcctl hold and hpcctl release: keep queued runs from starting, and let them start again.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/commands/runs/each_run.h"
#include "client/cli/find_run.h"
#include "common/status_macros.h"

namespace hpc::client {
namespace {

class HoldCommand : public Command {
 public:
  explicit HoldCommand(bool hold) : hold_(hold) {}

  void Declare(Options* options) override {
    options->Details(hold_ ? "Runs behind it in the queue do not wait for it meanwhile. It keeps "
                             "its priority and\nage, so once it is released it is where it was. "
                             "A run that is under way cannot be held."
                           : "They are served by their priority and age, as if they had never been "
                             "held.");
    options->RunArguments(&named_);
    options->Example(hold_ ? "hpcctl hold 12 13" : "hpcctl release 12");
  }

  absl::StatusOr<int> Run(Session* session) override {
    HPC_ASSIGN_OR_RETURN(Client * client, session->Connect());
    HPC_ASSIGN_OR_RETURN(const std::vector<int64_t> runs, FindRuns(client, named_));
    return ForEachRun(session, runs, [&](int64_t run) {
      v1::ChangeRequest request;
      request.set_run(run);
      request.set_hold(hold_);
      HPC_RETURN_IF_ERROR(client->Change(request).status());
      session->out().Write(absl::StrCat("run ", run, hold_ ? " is held\n" : " may start\n"));
      return absl::OkStatus();
    });
  }

 private:
  const bool hold_;
  std::vector<std::string> named_;
};

}  // namespace

std::unique_ptr<Command> MakeHold() { return std::make_unique<HoldCommand>(true); }
std::unique_ptr<Command> MakeRelease() { return std::make_unique<HoldCommand>(false); }

}  // namespace hpc::client
