// hpcctl cancel: end runs.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/commands/runs/each_run.h"
#include "client/cli/find_run.h"
#include "client/cli/input/usage_error.h"
#include "common/status_macros.h"

namespace hpc::client {
namespace {

class CancelCommand : public Command {
 public:
  void Declare(Options* options) override {
    options->Details(
        "Its processes get SIGTERM, and SIGKILL after the run's grace. Answers once the wish is "
        "on\n"
        "disk; 'hpcctl wait' waits for the end. A run that is already over is left as it is. Of\n"
        "several runs none is cancelled if one of them does not exist, and those that wait are\n"
        "cancelled first: none starts on what another of them gives back.");
    options->RunArguments(&named_, /*required=*/false);
    options->Flag("--all", &all_, "all of your runs that are not over");
    options->Example("hpcctl cancel 12");
    options->Example("hpcctl cancel 12 13 14");
    options->Example("hpcctl cancel --all");
  }

  absl::StatusOr<int> Run(Session* session) override {
    if (all_ != named_.empty()) {
      return UsageError(all_ ? "--all cancels all of your runs: name none beside it."
                             : "which run? As in: hpcctl cancel 12; or --all, which is all of "
                               "yours that are not over.");
    }
    HPC_ASSIGN_OR_RETURN(Client * client, session->Connect());
    if (all_) {
      HPC_ASSIGN_OR_RETURN(runs_, LiveRunsOfCaller(client));
      if (runs_.empty()) session->Notice("none of your runs is under way or queued");
    } else {
      HPC_ASSIGN_OR_RETURN(runs_, FindRuns(client, named_));
    }
    if (runs_.size() > 1) HPC_RETURN_IF_ERROR(QueuedFirst(client));
    return ForEachRun(session, runs_, [&](int64_t run) { return CancelOne(session, client, run); });
  }

 private:
  // Queued runs are cancelled first. Otherwise the nodes of a running one would start one of them.
  absl::Status QueuedFirst(Client* client) {
    std::vector<int64_t> queued, others;
    for (const int64_t run : runs_) {
      HPC_ASSIGN_OR_RETURN(const v1::RunDetail detail, client->GetRun(run));
      (detail.run().state() == v1::RUN_STATE_QUEUED ? queued : others).push_back(run);
    }
    runs_ = std::move(queued);
    runs_.insert(runs_.end(), others.begin(), others.end());
    return absl::OkStatus();
  }

  static absl::Status CancelOne(Session* session, Client* client, int64_t run) {
    const absl::Status status = client->Cancel(run, /*interrupt=*/false);
    if (absl::IsFailedPrecondition(status)) {
      // The run is over already, which is what was wanted.
      session->Notice(absl::string_view(status.message()));
      return absl::OkStatus();
    }
    HPC_RETURN_IF_ERROR(status);
    session->out().Write(absl::StrCat("run ", run, " is being cancelled\n"));
    return absl::OkStatus();
  }

  std::vector<std::string> named_;
  bool all_ = false;
  std::vector<int64_t> runs_;
};

}  // namespace

std::unique_ptr<Command> MakeCancel() { return std::make_unique<CancelCommand>(); }

}  // namespace hpc::client
