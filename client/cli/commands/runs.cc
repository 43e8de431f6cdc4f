// hpcctl runs: list the runs, newest first.
#include <limits>
#include <optional>

#include "client/cli/commands.h"
#include "client/cli/exit_codes.h"
#include "client/cli/listing.h"
#include "client/cli/usage_error.h"
#include "client/cli/words.h"
#include "client/run_state.h"
#include "common/status_macros.h"

namespace hpc::client {
namespace {

std::vector<Column> Columns() {
  return {{"id", "RUN"},
          {"state", "STATE"},
          {"name", "NAME"},
          {"experiment", "EXPERIMENT"},
          {"user", ""},
          {"", "WANTS"},
          {"min_nodes", ""},
          {"max_nodes", ""},
          {"nodes", "NODES"},
          {"priority", ""},
          {"submitted_at", "SUBMITTED"},
          {"took_us", "TOOK"},
          {"started_at", ""},
          {"ended_at", ""},
          {"attempts", ""},
          {"failures", ""},
          {"exit_code", ""},
          {"queue_position", ""},
          {"cancel_requested", ""},
          {"command", ""},
          {"reason", "REASON"}};
}

void AddRow(const v1::Run& run, Listing* listing) {
  listing->Integer(run.id())
      .Text(Word(run.state()), ColourOf(run.state()))
      .Text(run.name())
      .Text(run.experiment())
      .Text(run.user())
      .TableOnly(NodeRange(run.min_nodes(), run.max_nodes()))
      .Integer(run.min_nodes())
      .Integer(run.max_nodes())
      .Items(run.nodes())
      .Integer(run.priority())
      .Time(run.submitted_at_us())
      .Span(HasRunTime(run.state()) ? run.started_at_us() : 0, run.ended_at_us())
      .Time(run.started_at_us())
      .Time(run.ended_at_us())
      .Integer(run.attempts())
      .Integer(run.failures());
  if (IsOver(run.state())) {
    listing->Integer(run.exit_code());
  } else {
    listing->None();
  }
  listing->Integer(run.queue_position())
      .Bool(run.cancel_requested())
      .Items(run.command())
      .Text(run.reason())
      .EndRow();
}

class RunsCommand : public Command {
 public:
  void Declare(Options* options) override {
    options->Details("TOOK counts from the first start; a run that waits has none.");
    options->List("--state", "S,T", &states_,
                  "only in these states: queued, starting, running, stopping, succeeded, failed, "
                  "cancelled, timed-out");
    options->Text("--experiment", "E", &experiment_, "only of this experiment");
    options->Text("--tag", "T", &tag_, "only with this tag");
    options->Integer("-n,--limit", "N", &limit_, 1, std::numeric_limits<int64_t>::max(),
                     "only the newest N");
    options->Flag("--json", &json_, "print JSON");
    options->Example("hpcctl runs");
    options->Example("hpcctl runs --state queued,running --experiment lr");
  }

  absl::StatusOr<int> Run(Session* session) override {
    HPC_ASSIGN_OR_RETURN(const v1::ListRunsRequest request, Request());
    HPC_ASSIGN_OR_RETURN(Client * client, session->Connect());
    std::optional<Listing> listing;
    HPC_RETURN_IF_ERROR(client->ListRuns(request, [&](const v1::ListRunsResponse& response) {
      if (!listing) {
        listing.emplace(Columns(),
                        FormFor(session->out(), json_, Session::NowUs(response.now_us())));
      }
      for (const v1::Run& run : response.runs()) AddRow(run, &*listing);
      session->out().Write(listing->Take());
    }));
    if (!listing) listing.emplace(Columns(), FormFor(session->out(), json_, 0));
    const bool filtered = request.states_size() > 0 || request.has_experiment() ||
                          request.has_tag() || request.before() > 0;
    session->Print(&*listing, filtered ? "no run is of that kind; 'hpcctl runs' lists all"
                                       : "no runs. 'hpcctl run -- COMMAND' starts one");
    return kExitOk;
  }

 private:
  absl::StatusOr<v1::ListRunsRequest> Request() const {
    v1::ListRunsRequest request;
    for (const std::string& word : states_) {
      const v1::RunState state = RunStateOf(word);
      if (state == v1::RUN_STATE_UNSPECIFIED) {
        return usage::NotAChoice("--state", word, RunStateWords());
      }
      request.add_states(state);
    }
    if (!experiment_.empty()) request.set_experiment(experiment_);
    if (!tag_.empty()) request.set_tag(tag_);
    request.set_limit(limit_);
    return request;
  }

  std::vector<std::string> states_;
  std::string experiment_, tag_;
  int64_t limit_ = 0;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeRuns() { return std::make_unique<RunsCommand>(); }

}  // namespace hpc::client
