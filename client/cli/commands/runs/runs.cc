// hpcctl runs: list the runs, newest first.
#include <algorithm>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/commands.h"
#include "client/cli/exit_codes.h"
#include "client/cli/forms/listing.h"
#include "client/cli/input/suggest.h"
#include "client/cli/input/usage_error.h"
#include "client/cli/show/run_listing.h"
#include "client/cli/show/words.h"
#include "common/status_macros.h"

namespace hpc::client {
namespace {

class RunsCommand : public Command {
 public:
  void Declare(Options* options) override {
    options->Details(
        "TOOK counts from the first start; a run that waits has none. With --experiment or "
        "--metric\n"
        "runs stand side by side: a column for each of their parameters, and one for the last "
        "value\n"
        "of each metric. JSON has both always, and of metrics the smallest and largest too.");
    options->List("--state", "S,T", &states_,
                  "only in these states: queued, starting, running, stopping, succeeded, failed, "
                  "cancelled, timed-out");
    options->Text("--experiment", "E", &experiment_, "only of this experiment");
    options->Text("--tag", "T", &tag_, "only with this tag");
    options->Word("--user", "U", &user_, "only of this person; me: yours");
    options->Word("--name", "X", &name_, "only of this name");
    options->List(
        "--metric", "K,L", &metrics_,
        "side by side, with these metrics only; loss:min and loss:max are the best values");
    options->Text("--sort", "K", &sort_,
                  "side by side, by this metric or parameter; -K from the largest down");
    options->Integer("-n,--limit", "N", &limit_, 1, std::numeric_limits<int64_t>::max(),
                     "only the newest N; with --sort the first N");
    options->Flag("--json", &json_, "print JSON");
    options->Example("hpcctl runs");
    options->Example("hpcctl runs --state queued,running");
    options->Example("hpcctl runs --experiment lr --metric loss,accuracy");
    options->Example("hpcctl runs --experiment lr --sort loss:min");
  }

  absl::StatusOr<int> Run(Session* session) override {
    HPC_ASSIGN_OR_RETURN(v1::ListRunsRequest request, Request());
    HPC_ASSIGN_OR_RETURN(Client * client, session->Connect());
    if (user_ == "me") {
      HPC_ASSIGN_OR_RETURN(const v1::WhoAmIResponse me, client->WhoAmI());
      request.set_user(me.name());
    }
    if (!sort_.empty() || (request.with_results() && !json_)) {
      return Compare(session, client, request);
    }
    std::optional<Listing> listing;
    HPC_RETURN_IF_ERROR(client->ListRuns(request, [&](const v1::ListRunsResponse& response) {
      if (!listing) {
        listing.emplace(
            RunListing(FormFor(session->out(), json_, Session::NowUs(response.now_us()))));
      }
      for (const v1::Run& run : response.runs()) {
        AddRun(run, &*listing);
        session->Spill(&*listing);
      }
    }));
    if (!listing) listing.emplace(RunListing(FormFor(session->out(), json_, 0)));
    if (!listing->empty()) {
      session->Print(&*listing, "");
      return kExitOk;
    }
    HPC_ASSIGN_OR_RETURN(const std::string why, WhyEmpty(client, request));
    session->Print(&*listing, why);
    return kExitOk;
  }

 private:
  absl::StatusOr<int> Compare(Session* session, Client* client,
                              const v1::ListRunsRequest& request) {
    std::vector<v1::Run> runs;
    int64_t now_us = 0;
    HPC_RETURN_IF_ERROR(client->ListRuns(request, [&](const v1::ListRunsResponse& response) {
      now_us = response.now_us();
      runs.insert(runs.end(), response.runs().begin(), response.runs().end());
    }));
    if (runs.empty() && !json_) {
      HPC_ASSIGN_OR_RETURN(const std::string why, WhyEmpty(client, request));
      session->Notice(why);
      return kExitOk;
    }
    if (!sort_.empty() && !SortRuns(sort_, &runs)) {
      session->Notice(absl::StrCat("none of these runs has a metric or parameter '", sort_,
                                   "', so they are not sorted"));
    }
    if (!sort_.empty() && limit_ > 0 && limit_ < static_cast<int64_t>(runs.size())) {
      runs.resize(static_cast<size_t>(limit_));
    }
    for (const std::string& metric : metrics_) {
      if (!HasMetric(runs, metric)) {
        session->Notice(absl::StrCat("none of these runs has measured '", metric, "'"));
      }
    }
    const ListingForm form = FormFor(session->out(), json_, Session::NowUs(now_us));
    if (json_) {
      Listing listing = RunListing(form);
      for (const v1::Run& run : runs) AddRun(run, &listing);
      session->Print(&listing, "");
      return kExitOk;
    }
    const Comparison comparison = CompareRuns(runs, metrics_, form);
    session->out().Write(comparison.table);
    if (!comparison.left_out.empty()) {
      session->Notice(absl::StrCat("not shown: ", absl::StrJoin(comparison.left_out, ", "),
                                   "; choose with --metric ", comparison.left_out[0],
                                   ", or see all with --json"));
    }
    return kExitOk;
  }

  static absl::StatusOr<std::string> WhyEmpty(Client* client, const v1::ListRunsRequest& request) {
    if (request.has_experiment()) {
      HPC_ASSIGN_OR_RETURN(const v1::ListExperimentsResponse all, client->ListExperiments());
      std::vector<std::string> names;
      for (const v1::Experiment& one : all.experiments()) names.push_back(one.name());
      if (std::find(names.begin(), names.end(), request.experiment()) == names.end()) {
        return absl::StrCat("there is no experiment '", request.experiment(), "'.",
                            DidYouMean(request.experiment(), names),
                            " 'hpcctl experiments' lists all");
      }
    }
    const bool filtered = request.states_size() > 0 || request.has_experiment() ||
                          request.has_tag() || request.has_user() || request.has_name() ||
                          request.before() > 0;
    return std::string(filtered ? "no run is of that kind; 'hpcctl runs' lists all"
                                : "no runs. 'hpcctl run -- COMMAND' starts one");
  }

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
    if (!user_.empty()) request.set_user(user_);
    if (!name_.empty()) request.set_name(name_);
    // The best N are not among the newest N.
    if (sort_.empty()) request.set_limit(limit_);
    request.set_with_results(json_ || request.has_experiment() || !metrics_.empty() ||
                             !sort_.empty());
    request.set_without_command(!json_);
    return request;
  }

  std::vector<std::string> states_, metrics_;
  std::string experiment_, tag_, user_, name_, sort_;
  int64_t limit_ = 0;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeRuns() { return std::make_unique<RunsCommand>(); }

}  // namespace hpc::client
