#include "tests/sim/truth/blame.h"

#include <algorithm>

namespace hpc::sim {

namespace co = hpc::coordinator;

namespace {

// A failure may be this much later than a harm and still be taken for the first: a harm is found
// only when somebody looks, and nobody knows how long ago it happened.
constexpr absl::Duration kFoundAfter = absl::Seconds(3);
// If two things are further apart than this, their order must be known: a peer has a second for its
// own word, and messages take their time until the clocks are known.
constexpr absl::Duration kOrderedWithin = absl::Seconds(4);

}  // namespace

void Blame::Fails(AttemptRef ref, int32_t rank, int32_t exit_code) {
  truths_[ref].failures.push_back({context_->now(), rank, exit_code});
}

void Blame::Ended(AttemptRef ref, int32_t rank, std::optional<int32_t> exit_code) {
  for (Failure& failure : truths_[ref].failures) {
    if (failure.rank != rank) continue;
    failure.ended = std::min(failure.ended, context_->now());
    failure.said = exit_code == failure.exit_code;
  }
}

void Blame::LoseTime(AttemptRef ref, int32_t rank) {
  for (Failure& failure : truths_[ref].failures) {
    if (failure.rank == rank) failure.ended = MonoTime::Infinite();
  }
}

void Blame::Harmed(AttemptRef ref, const std::string& what) {
  Truth& truth = truths_[ref];
  if (truth.harmed_at) return;
  truth.harmed_at = context_->now();
  truth.harm = what;
}

void Blame::CheckVerdict(const co::AttemptRecord& attempt) const {
  if (attempt.state != co::AttemptState::kEnded) return;
  const auto found = truths_.find(attempt.ref);
  if (attempt.outcome == co::AttemptOutcome::kSucceeded && found != truths_.end() &&
      found->second.interrupted) {
    context_->verdict.Broken(
        "interrupted-is-no-success", "attempt ", attempt.ref.ToString(),
        " has succeeded, and its PC's SIGTERM had interrupted its ranks: ", attempt.reason);
  }
  if (attempt.outcome != co::AttemptOutcome::kProgramFailed) return;
  if (found == truths_.end() || found->second.failures.empty()) {
    const std::string harm = found == truths_.end() ? "nothing" : found->second.harm;
    context_->verdict.Broken("nobody-else-pays", "attempt ", attempt.ref.ToString(),
                             " counts as failed by its program, of which no rank failed; ", harm,
                             " ended it: ", attempt.reason);
    return;
  }
  const Truth& truth = found->second;
  if (truth.harmed_at && truth.failures.front().at > *truth.harmed_at + kFoundAfter) {
    context_->verdict.Broken("nobody-else-pays", "attempt ", attempt.ref.ToString(),
                             " counts as failed by its program, which failed ",
                             absl::FormatDuration(truth.failures.front().at - *truth.harmed_at),
                             " after ", truth.harm, ": ", attempt.reason);
  }
}

void Blame::CheckEarliest(const co::AttemptRecord& attempt, int32_t rank) const {
  const auto found = truths_.find(attempt.ref);
  if (found == truths_.end()) return;
  const Now now = context_->agenda.clock();
  const MonoTime caused = now.mono - (now.wall - attempt.caused_from);
  for (const Failure& failure : found->second.failures) {
    if (failure.rank != rank || caused <= failure.ended + kOrderedWithin) continue;
    context_->verdict.Broken(
        "cause-is-earliest", "attempt ", attempt.ref.ToString(), " ended for what happened ",
        absl::FormatDuration(caused - failure.ended), " after the failure of rank ", rank,
        ", which was reported: ", attempt.reason);
  }
}

void Blame::CheckPaid(AttemptRef ref, const co::RunRequest& request) const {
  const auto found = truths_.find(ref);
  if (found == truths_.end()) return;
  const std::vector<Failure>& failures = found->second.failures;
  const auto asks = [&](const Failure& failure) {
    return failure.said && std::find(request.retry_exits.begin(), request.retry_exits.end(),
                                     failure.exit_code) != request.retry_exits.end();
  };
  if (failures.empty() || !std::all_of(failures.begin(), failures.end(), asks)) return;
  context_->verdict.Broken("asked-is-free", "attempt ", ref.ToString(),
                           " cost a restart, though all that failed in it asked for one with code ",
                           failures.front().exit_code);
}

}  // namespace hpc::sim
