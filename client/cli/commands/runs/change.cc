// hpcctl change: what queued runs ask for.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/commands/runs/each_run.h"
#include "client/cli/find_run.h"
#include "client/cli/input/run_options.h"
#include "client/cli/input/usage_error.h"
#include "common/status_macros.h"

namespace hpc::client {
namespace {

class ChangeCommand : public Command {
 public:
  void Declare(Options* options) override {
    options->Details(
        "Only what waits in the queue can be changed. What is not named stays as it is; 'hpcctl "
        "show'\ntells what a run asks for.");
    options->RunArguments(&named_);
    for (const auto& [field, help] : {
             std::pair("priority", "larger goes first, -1000 to 1000"),
             {"nodes", "how many nodes, or the fewest and the most"},
             {"nodelist", "only these nodes"},
             {"exclude", "never these nodes"},
             {"time_limit", "end it so long after its start"},
             {"max_restarts", "start it again when it fails by itself, so many times at most"},
         }) {
      DeclareRunOption(field, help, options, &wanted_);
    }
    options->Flag("--any-node", &any_node_, "no --nodelist and no --exclude any more");
    options->Flag("--no-time-limit", &no_time_limit_, "no --time-limit any more");
    options->Example("hpcctl change 12 --priority 5");
    options->Example("hpcctl change 12 -N 1:4 --any-node");
  }

  absl::StatusOr<int> Run(Session* session) override {
    if (wanted_.typed.empty() && !any_node_ && !no_time_limit_) {
      return UsageError(
          "say what is to change, as --priority 5; 'hpcctl hold' and 'hpcctl "
          "release' keep a run from starting and let it start.");
    }
    if (no_time_limit_ && Typed("time_limit")) {
      return UsageError(
          "--time-limit and --no-time-limit contradict each other: give one of them.");
    }
    if (any_node_ && (Typed("nodelist") || Typed("exclude"))) {
      return UsageError(
          "--any-node and --nodelist or --exclude contradict each other, since "
          "--any-node empties both lists: give one of them.");
    }
    HPC_ASSIGN_OR_RETURN(Client * client, session->Connect());
    HPC_ASSIGN_OR_RETURN(const std::vector<int64_t> runs, FindRuns(client, named_));
    v1::ChangeRequest request = Request();
    return ForEachRun(session, runs, [&](int64_t run) {
      request.set_run(run);
      HPC_ASSIGN_OR_RETURN(const v1::ChangeResponse response, client->Change(request));
      session->out().Write(
          response.changed().empty()
              ? absl::StrCat("run ", run, " asks for that already\n")
              : absl::StrCat("run ", run, " is changed: ", response.changed(), "\n"));
      return absl::OkStatus();
    });
  }

 private:
  bool Typed(const char* field) const { return wanted_.typed.contains(field); }

  v1::ChangeRequest Request() const {
    const v1::RunSpec& spec = wanted_.spec;
    v1::ChangeRequest request;
    if (Typed("priority")) request.set_priority(spec.priority());
    if (Typed("max_restarts")) request.set_max_restarts(spec.max_restarts());
    if (Typed("nodes")) {
      request.set_min_nodes(spec.min_nodes());
      request.set_max_nodes(spec.max_nodes());
    }
    if (Typed("time_limit") || no_time_limit_) request.set_time_limit_ms(spec.time_limit_ms());
    if (Typed("nodelist") || any_node_) {
      *request.mutable_node_list()->mutable_names() = spec.node_list();
    }
    if (Typed("exclude") || any_node_) {
      *request.mutable_exclude()->mutable_names() = spec.exclude();
    }
    return request;
  }

  std::vector<std::string> named_;
  RunOptions wanted_;
  bool any_node_ = false, no_time_limit_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeChange() { return std::make_unique<ChangeCommand>(); }

}  // namespace hpc::client
