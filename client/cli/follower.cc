#include "client/cli/follower.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cli/exit_codes.h"
#include "client/cli/failure_hint.h"
#include "client/cli/listing.h"
#include "client/cli/words.h"
#include "client/run_state.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace hpc::client {

Follower::Follower(Session* session, int64_t run, std::optional<Labelling> labelling)
    : session_(session), id_(run), moves_(!session->err().terminal()) {
  if (labelling) output_.emplace(session, run, *labelling);
}

absl::StatusOr<int> Follower::FollowToEnd(Client* client) {
  v1::FollowRequest request;
  request.set_run(id_);
  request.set_with_output(output_.has_value());
  HPC_RETURN_IF_ERROR(client->Follow(request, [this](const v1::FollowResponse& response) {
    if (response.has_state()) OnState(response.state());
    if (response.has_output() && output_) output_->Write(response.output());
  }));
  if (output_) output_->Finish();
  session_->progress().Clear();
  if (run_.state() == v1::RUN_STATE_SUCCEEDED) return kExitOk;
  ReportOutcome(session_, run_, HasRun(client));
  return ExitCodeOf(run_);
}

bool Follower::HasRun(Client* client) const {
  if (run_.started_at_us() != 0) return true;
  // Of a gang that never ran as a whole, a rank may have.
  const absl::StatusOr<v1::RunDetail> detail = client->GetRun(id_);
  return detail.ok() && AnyRankRan(*detail);
}

void Follower::OnState(const v1::RunUpdate& update) {
  run_ = update.run();
  const std::string move = moves_.Tell(absl::Now(), update);
  if (!move.empty()) session_->Notice(move);
  ShowProgress(update);
}

void Follower::ShowProgress(const v1::RunUpdate& update) {
  // A run whose ranks have all been started is quiet unless they wait for each other.
  const bool quiet = run_.state() == v1::RUN_STATE_RUNNING && update.progress().empty();
  if (quiet || IsOver(run_.state())) {
    session_->progress().Clear();
    return;
  }
  const std::string& words = update.progress().empty() ? run_.reason() : update.progress();
  session_->progress().Show(
      absl::StrCat("run ", id_, " ", Word(run_.state()), words.empty() ? "" : ": ", words));
}

void ReportOutcome(Session* session, const v1::Run& run, bool ran) {
  std::string text = absl::StrCat("run ", run.id(), " ", Word(run.state()));
  if (!run.reason().empty()) absl::StrAppend(&text, ": ", OneLine(run.reason()));
  const std::string hint = FailureHint(run, session->environment());
  if (!hint.empty()) absl::StrAppend(&text, "\n  ", hint);
  absl::StrAppend(&text, "\n  hpcctl why ", run.id(), "    the decisions that led there",
                  ran ? absl::StrCat("\n  hpcctl logs ", run.id(), "   its output") : "");
  session->Notice(text);
}

}  // namespace hpc::client
