// hpcctl wait: stay with runs until they are over, without their output.
#include <map>

#include "client/cli/commands.h"
#include "client/cli/exit_codes.h"
#include "client/cli/find_run.h"
#include "client/cli/follow/run_teller.h"
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
    options->RunArguments(&named_);
    options->Example("hpcctl wait 12");
    options->Example("hpcctl wait 12 13 14");
  }

  absl::StatusOr<int> Run(Session* session) override {
    HPC_ASSIGN_OR_RETURN(Client * client, session->Connect());
    HPC_ASSIGN_OR_RETURN(runs_, FindRuns(client, named_));
    std::map<int64_t, int> codes;
    // One teller for each run of which something was told before it was over.
    std::map<int64_t, RunTeller> tellers;
    HPC_RETURN_IF_ERROR(client->Wait(runs_, [&](const v1::WaitResponse& response) {
      for (const v1::Run& run : response.over()) {
        const auto teller = tellers.try_emplace(run.id(), session).first;
        codes[run.id()] = teller->second.TellEnd(client, run);
        tellers.erase(teller);
      }
      if (!response.has_left()) return;
      tellers.try_emplace(response.left().run().id(), session).first->second.Tell(response.left());
    }));
    for (const int64_t run : runs_) {
      if (codes[run] != kExitOk) return codes[run];
    }
    return kExitOk;
  }

 private:
  std::vector<std::string> named_;
  std::vector<int64_t> runs_;
};

}  // namespace

std::unique_ptr<Command> MakeWait() { return std::make_unique<WaitCommand>(); }

}  // namespace hpc::client
