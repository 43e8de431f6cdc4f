#include "coordinator/core/policy/retry.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "coordinator/core/values/exit_codes.h"

namespace hpc::coordinator {
namespace {

// 1, 2, 4 ... 32, 60 times the first delay.
absl::Duration BackOff(absl::Duration first, int32_t failures) {
  const int32_t doublings = std::clamp(failures - 1, 0, 20);
  return first * std::min(int64_t{1} << doublings, kLongestBackOff);
}

RetryDecision Over(RetryDecision decision, RunState state, int32_t exit_code) {
  decision.state = state;
  decision.exit_code = exit_code;
  return decision;
}

RetryDecision Again(RetryDecision decision, absl::Duration delay, const std::string& who_pays) {
  decision.state = RunState::kQueued;
  decision.delay = delay;
  absl::StrAppend(&decision.reason, "; ", who_pays);
  return decision;
}

bool AsksForRestart(const RunRequest& request, int32_t exit_code) {
  const std::vector<int32_t>& codes = request.retry_exits;
  return std::find(codes.begin(), codes.end(), exit_code) != codes.end();
}

// Such restarts cost nothing but time, and their number is not limited: the program knows what it
// waits for.
RetryDecision AfterRetryExit(RetryDecision decision, const Ending& ending,
                             const ClusterOptions& options) {
  ++decision.retries;
  const absl::Duration delay = BackOff(options.restart_backoff, decision.retries);
  return Again(std::move(decision), delay,
               absl::StrCat("code ", ending.exit_code,
                            " asks for a restart (--retry-exit), which costs nothing"));
}

RetryDecision AfterFailure(RetryDecision decision, const RunRecord& run, const Ending& ending,
                           const ClusterOptions& options) {
  ++decision.failures;
  const int32_t allowed = run.request.max_restarts;
  if (decision.failures > allowed) {
    if (allowed > 0) {
      absl::StrAppend(&decision.reason, "; no restart is left of ", allowed);
    }
    return Over(std::move(decision), RunState::kFailed, ending.exit_code);
  }
  const absl::Duration delay = BackOff(options.restart_backoff, decision.failures);
  return Again(decision, delay, absl::StrCat("restart ", decision.failures, " of ", allowed));
}

RetryDecision AfterLoss(RetryDecision decision, const Ending& ending,
                        const ClusterOptions& options) {
  if (ending.free_of_charge) return Again(decision, absl::ZeroDuration(), "costs nothing");
  ++decision.losses;
  if (decision.losses > options.infrastructure_retries) {
    absl::StrAppend(&decision.reason, "; gave up after ", Count(decision.losses, "attempt"),
                    " in a row that ended for reasons outside the program");
    return Over(std::move(decision), RunState::kFailed, kExitNotRun);
  }
  // A gang that was running and lost a node goes on at once. But a node that could not start a gang
  // may need a moment, and after a second loss in a row a third may follow.
  const bool at_once = ending.outcome == AttemptOutcome::kNodeLost && decision.losses == 1;
  const absl::Duration delay =
      at_once ? absl::ZeroDuration() : BackOff(options.restart_backoff, decision.losses);
  return Again(decision, delay,
               absl::StrCat("not the program's fault: ", decision.losses, " of ",
                            options.infrastructure_retries, " such retries"));
}

// Judges the end as if nobody had asked the run to end.
RetryDecision JudgeEnding(const RunRecord& run, const Ending& ending,
                          const ClusterOptions& options) {
  RetryDecision decision;
  decision.reason = ending.reason;
  decision.failures = run.failures;
  decision.losses = run.losses;
  decision.retries = run.retries;
  if (ending.ran_for >= kRowEndsAfter) decision.losses = decision.retries = 0;
  if (ending.outcome == AttemptOutcome::kSucceeded) {
    return Over(std::move(decision), RunState::kSucceeded, 0);
  }
  switch (ending.outcome) {
    case AttemptOutcome::kCancelled:
      return Over(std::move(decision), RunState::kCancelled, kExitCancelled);
    case AttemptOutcome::kTimedOut:
      return Over(std::move(decision), RunState::kTimedOut, kExitTimedOut);
    case AttemptOutcome::kRefused:
      return Over(std::move(decision), RunState::kFailed, ending.exit_code);
    case AttemptOutcome::kProgramFailed:
      if (AsksForRestart(run.request, ending.exit_code)) {
        return AfterRetryExit(std::move(decision), ending, options);
      }
      return AfterFailure(std::move(decision), run, ending, options);
    case AttemptOutcome::kReclaimed:
      return Again(std::move(decision), absl::ZeroDuration(), "costs no restart");
    case AttemptOutcome::kGrown:
    case AttemptOutcome::kShrunk:
      return Again(std::move(decision), absl::ZeroDuration(), "costs nothing");
    case AttemptOutcome::kNone:
    case AttemptOutcome::kSucceeded:
    case AttemptOutcome::kNodeLost:
    case AttemptOutcome::kStartFailed:
      break;
  }
  return AfterLoss(std::move(decision), ending, options);
}

}  // namespace

// A run that has failed stays failed, even if somebody cancelled it a moment later.
RetryDecision DecideRetry(const RunRecord& run, const Ending& ending,
                          const ClusterOptions& options) {
  RetryDecision decision = JudgeEnding(run, ending, options);
  if (!run.cancel_requested) return decision;
  const bool lost =
      ending.outcome == AttemptOutcome::kNodeLost || ending.outcome == AttemptOutcome::kStartFailed;
  if (decision.state != RunState::kQueued && !lost) return decision;
  decision.reason = ending.reason;
  return Over(std::move(decision), RunState::kCancelled, kExitCancelled);
}

}  // namespace hpc::coordinator
