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

Verdict Over(Verdict verdict, RunState state, int32_t exit_code) {
  verdict.state = state;
  verdict.exit_code = exit_code;
  return verdict;
}

Verdict Again(Verdict verdict, absl::Duration delay, const std::string& who_pays) {
  verdict.state = RunState::kQueued;
  verdict.delay = delay;
  absl::StrAppend(&verdict.reason, "; ", who_pays);
  return verdict;
}

bool AsksForRestart(const RunRequest& request, int32_t exit_code) {
  const std::vector<int32_t>& codes = request.retry_exits;
  return std::find(codes.begin(), codes.end(), exit_code) != codes.end();
}

// Such restarts cost nothing but time, and their number is not limited: the program knows what it
// waits for.
Verdict AfterRetryExit(Verdict verdict, const Ending& ending, const ClusterOptions& options) {
  ++verdict.retries;
  const absl::Duration delay = BackOff(options.restart_backoff, verdict.retries);
  return Again(std::move(verdict), delay,
               absl::StrCat("code ", ending.exit_code,
                            " asks for a restart (--retry-exit), which costs nothing"));
}

Verdict AfterFailure(Verdict verdict, const RunRecord& run, const Ending& ending,
                     const ClusterOptions& options) {
  ++verdict.failures;
  const int32_t allowed = run.request.max_restarts;
  if (verdict.failures > allowed) {
    if (allowed > 0) {
      absl::StrAppend(&verdict.reason, "; no restart is left of ", allowed);
    }
    return Over(std::move(verdict), RunState::kFailed, ending.exit_code);
  }
  const absl::Duration delay = BackOff(options.restart_backoff, verdict.failures);
  return Again(verdict, delay, absl::StrCat("restart ", verdict.failures, " of ", allowed));
}

Verdict AfterLoss(Verdict verdict, const Ending& ending, const ClusterOptions& options) {
  if (ending.free_of_charge) return Again(verdict, absl::ZeroDuration(), "costs nothing");
  ++verdict.losses;
  if (verdict.losses > options.infrastructure_retries) {
    absl::StrAppend(&verdict.reason, "; gave up after ", Count(verdict.losses, "attempt"),
                    " in a row that ended for reasons outside the program");
    return Over(std::move(verdict), RunState::kFailed, kExitNotRun);
  }
  // A gang that was running and lost a node goes on at once. But a node that could not start a gang
  // may need a moment, and after a second loss in a row a third may follow.
  const bool at_once = ending.outcome == AttemptOutcome::kNodeLost && verdict.losses == 1;
  const absl::Duration delay =
      at_once ? absl::ZeroDuration() : BackOff(options.restart_backoff, verdict.losses);
  return Again(verdict, delay,
               absl::StrCat("not the program's fault: ", verdict.losses, " of ",
                            options.infrastructure_retries, " such retries"));
}

// Judges the end as if nobody had asked the run to end.
Verdict JudgeEnding(const RunRecord& run, const Ending& ending, const ClusterOptions& options) {
  Verdict verdict;
  verdict.reason = ending.reason;
  verdict.failures = run.failures;
  verdict.losses = run.losses;
  verdict.retries = run.retries;
  if (ending.ran_for >= kRowEndsAfter) verdict.losses = verdict.retries = 0;
  if (ending.outcome == AttemptOutcome::kSucceeded) {
    return Over(std::move(verdict), RunState::kSucceeded, 0);
  }
  switch (ending.outcome) {
    case AttemptOutcome::kCancelled:
      return Over(std::move(verdict), RunState::kCancelled, kExitCancelled);
    case AttemptOutcome::kTimedOut:
      return Over(std::move(verdict), RunState::kTimedOut, kExitTimedOut);
    case AttemptOutcome::kRefused:
      return Over(std::move(verdict), RunState::kFailed, ending.exit_code);
    case AttemptOutcome::kProgramFailed:
      if (AsksForRestart(run.request, ending.exit_code)) {
        return AfterRetryExit(std::move(verdict), ending, options);
      }
      return AfterFailure(std::move(verdict), run, ending, options);
    case AttemptOutcome::kReclaimed:
      return Again(std::move(verdict), absl::ZeroDuration(), "costs no restart");
    case AttemptOutcome::kGrown:
      return Again(std::move(verdict), absl::ZeroDuration(), "costs nothing");
    case AttemptOutcome::kNone:
    case AttemptOutcome::kSucceeded:
    case AttemptOutcome::kNodeLost:
    case AttemptOutcome::kStartFailed:
      break;
  }
  return AfterLoss(std::move(verdict), ending, options);
}

}  // namespace

// A run that has failed stays failed, even if somebody cancelled it a moment later.
Verdict Judge(const RunRecord& run, const Ending& ending, const ClusterOptions& options) {
  Verdict verdict = JudgeEnding(run, ending, options);
  if (!run.cancel_requested) return verdict;
  const bool lost =
      ending.outcome == AttemptOutcome::kNodeLost || ending.outcome == AttemptOutcome::kStartFailed;
  if (verdict.state != RunState::kQueued && !lost) return verdict;
  verdict.reason = ending.reason;
  return Over(std::move(verdict), RunState::kCancelled, kExitCancelled);
}

}  // namespace hpc::coordinator
