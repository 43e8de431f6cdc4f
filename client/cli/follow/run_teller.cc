#include "client/cli/follow/run_teller.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "client/cli/exit_codes.h"
#include "client/cli/forms/listing.h"
#include "client/cli/show/failure_hint.h"
#include "client/cli/show/words.h"
#include "client/run_state.h"
#include "common/clock.h"
#include "common/text.h"

namespace hpc::client {
namespace {

// Returns whether any rank of the run was started, so that there may be output.
bool HasRun(Client* client, const v1::Run& run) {
  if (run.started_at_us() != 0) return true;
  // The gang never ran as a whole, but one of its ranks may have.
  const absl::StatusOr<v1::RunDetail> detail = client->GetRun(run.id());
  return detail.ok() && AnyRankRan(*detail);
}

}  // namespace

void RunTeller::Tell(const v1::RunUpdate& update) {
  const std::string move = moves_.Tell(RealClock().Get().mono, update);
  if (!move.empty()) session_->Notice(move);
  ShowProgress(update);
}

void RunTeller::ShowProgress(const v1::RunUpdate& update) {
  const v1::Run& run = update.run();
  // A run whose ranks have all been started is quiet unless they wait for each other.
  const bool quiet = run.state() == v1::RUN_STATE_RUNNING && update.progress().empty();
  if (quiet || IsOver(run.state())) {
    session_->progress().Clear();
    return;
  }
  const std::string& words = update.progress().empty() ? run.reason() : update.progress();
  session_->progress().Show(
      absl::StrCat("run ", run.id(), " ", Word(run.state()), words.empty() ? "" : ": ", words));
}

int RunTeller::TellEnd(Client* client, const v1::Run& run) {
  session_->progress().Clear();
  if (run.state() == v1::RUN_STATE_SUCCEEDED) {
    // "its rank exited 0 after 5 s" needs no word, but what is said behind that does.
    if (const size_t remark = run.reason().find("; "); remark != std::string::npos) {
      session_->Notice(absl::StrCat("run ", run.id(), " succeeded: ", OneLine(run.reason())));
    }
    return kExitOk;
  }
  std::string text = absl::StrCat("run ", run.id(), " ", Word(run.state()));
  if (!run.reason().empty()) absl::StrAppend(&text, ": ", OneLine(run.reason()));
  const std::string hint = FailureHint(run, session_->environment());
  if (!hint.empty()) absl::StrAppend(&text, "\n  ", hint);
  absl::StrAppend(
      &text, "\n  hpcctl why ", run.id(), "    the decisions that led there",
      HasRun(client, run) ? absl::StrCat("\n  hpcctl logs ", run.id(), "   its output") : "");
  session_->Notice(text);
  return ExitCodeOf(run);
}

}  // namespace hpc::client
