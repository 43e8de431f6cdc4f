#include "coordinator/core/state/live_attempt.h"

#include "absl/strings/str_cat.h"

namespace hpc::coordinator {

absl::StatusOr<LiveAttempt> FindLive(State* state, const Node& node, AttemptRef ref) {
  Run* run = state->runs.Find(ref.run);
  if (run == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("attempt ", ref.ToString(), ": run ", ref.run,
                     state->runs.Known(ref.run) ? " is over" : " does not exist"));
  }
  if (run->attempt == nullptr || run->attempt->ref() != ref) {
    const AttemptRef newest{ref.run, run->record.attempts};
    return absl::FailedPreconditionError(absl::StrCat(
        "attempt ", ref.ToString(),
        newest.number > ref.number ? absl::StrCat(" was replaced by ", newest.ToString())
                                   : std::string(" is over")));
  }
  Member* member = run->attempt->FindMember(node.name());
  if (member == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("attempt ", ref.ToString(), " has no part on ", node.name()));
  }
  return LiveAttempt{run, member};
}

void CountStale(Turn& turn, State* state, Node* node, AttemptRef ref, const absl::Status& why) {
  ++state->stale_refused;
  if (node->last_stale == ref) return;
  node->last_stale = ref;
  turn.Event(event::kAttemptStale, About(ref, node->name()),
             absl::StrCat("refused a report of ", node->name(), ": ", why.message()),
             Severity::kWarning);
}

}  // namespace hpc::coordinator
