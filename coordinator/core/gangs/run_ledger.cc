#include "coordinator/core/gangs/run_ledger.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "coordinator/core/policy/request_words.h"
#include "coordinator/core/policy/run_change.h"
#include "coordinator/core/values/exit_codes.h"

namespace hpc::coordinator {
namespace {

const char* EventOf(RunState state) {
  switch (state) {
    case RunState::kSucceeded:
      return event::kRunSucceeded;
    case RunState::kCancelled:
      return event::kRunCancelled;
    case RunState::kTimedOut:
      return event::kRunTimedOut;
    default:
      return event::kRunFailed;
  }
}

std::string NeverSucceeds(RunId after, const std::string& how) {
  return absl::StrCat("run ", after, ", whose success it waits for, ", how);
}

}  // namespace

absl::Status RunLedger::CheckAfter(RunId after) const {
  if (after == 0 || state_->runs.Find(after) != nullptr) return absl::OkStatus();
  const std::optional<RunState> past = state_->runs.Known(after) ? LookUp(after) : std::nullopt;
  if (!past.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("--after ", after, ": there is no run ", after));
  }
  if (*past == RunState::kSucceeded) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("--after ", after, ": run ", after, " ended as ", Name(*past),
                   ", and only its success would let this run start"));
}

absl::Status RunLedger::CheckQuota(const std::string& user) const {
  const int32_t runs = state_->runs.CountOf(user);
  if (runs < state_->options.runs_per_user) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      user.empty() ? "there are" : absl::StrCat(user, " has"), " ", runs,
      " runs that are not over, as many as one user may have (hpc-coordinator --runs-per-user); "
      "wait until some have ended, or cancel some"));
}

RunId RunLedger::Submit(Turn& turn, const RunRequest& request) {
  RunRecord record;
  record.id = state_->runs.NextId();
  record.request = request;
  record.reason = "submitted";
  if (request.hold) record.on_hold = HeldBy(request.user);
  record.submitted_at = turn.wall();
  Run* run = state_->runs.Add(std::move(record));
  const RunId id = run->id();
  turn.Save(run->record);
  turn.Event(event::kRunQueued, About(id),
             absl::StrCat(request.user.empty() ? "asks for " : request.user + " asks for ",
                          RequestWords(request)));
  if (request.hold) turn.Event(event::kRunHeld, About(id), run->record.on_hold);
  Line(turn, run);
  return id;
}

void RunLedger::Resume(Turn& turn, Run* run) {
  // The wall clock may have been set back meanwhile.
  const absl::Duration left = std::min(run->record.retry_at - turn.wall(),
                                       state_->options.restart_backoff * kLongestBackOff);
  if (left > absl::ZeroDuration()) return BackOff(run, turn.mono() + left);
  Line(turn, run);
}

void RunLedger::Line(Turn& turn, Run* run) {
  const RunId after = run->request().after;
  if (after == 0 || run->record.attempts > 0) return Enqueue(run);
  if (state_->runs.Find(after) != nullptr) {
    waiting_for_[after].push_back(run->id());
    return;
  }
  const std::optional<RunState> past = LookUp(after);
  if (past == RunState::kSucceeded) return Enqueue(run);
  const std::string how =
      past.has_value() ? absl::StrCat("ended as ", Name(*past)) : "is not known any more";
  End(turn, run, RunState::kFailed, NeverSucceeds(after, how), kExitNotRun);
}

std::string RunLedger::Change(Turn& turn, Run* run, const RunRequest& to, const RunChange& change) {
  std::string words = ChangeWords(run->request(), to);
  if (!words.empty()) {
    const bool queued = state_->queue.Contains(*run);
    if (queued) state_->queue.Erase(run);  // its place goes by its priority
    if (ChangesNodes(run->request(), to)) run->last_call.reset();
    run->record.request = to;
    if (queued) Enqueue(run);
    state_->capacity_changed = true;
    turn.Save(run->record);
    turn.Event(event::kRunChanged, About(run->id()), DoneBy(words, change.by));
  }
  if (change.hold && *change.hold == run->record.on_hold.empty()) {
    *change.hold ? Hold(turn, run, change.by) : Release(turn, run, change.by);
  }
  return words;
}

void RunLedger::Hold(Turn& turn, Run* run, const std::string& by) {
  run->record.on_hold = HeldBy(by);
  if (state_->queue.Contains(*run)) state_->queue.Erase(run);
  run->last_call.reset();
  state_->capacity_changed = true;  // it may have held its place in front of others
  turn.Save(run->record);
  turn.Event(event::kRunHeld, About(run->id()), run->record.on_hold);
}

void RunLedger::Release(Turn& turn, Run* run, const std::string& by) {
  run->record.on_hold.clear();
  turn.Save(run->record);
  turn.Event(event::kRunReleased, About(run->id()), DoneBy("released", by));
  // What else it waits for queues it in its time.
  const bool waits_for_run =
      run->record.attempts == 0 && state_->runs.Find(run->request().after) != nullptr;
  if (waits_for_run) return;
  if (run->retry_at <= turn.mono()) return Enqueue(run);
  state_->backing_off.push_back(run->id());  // it keeps its place again
  state_->capacity_changed = true;
}

void RunLedger::Enqueue(Run* run) {
  if (!run->record.on_hold.empty()) return;
  state_->queue.Insert(run);
  state_->newly_queued.push_back(run->id());
}

void RunLedger::Carry(Turn& turn, Run* run, const RetryDecision& decision, absl::Time ended_at) {
  run->record.failures = decision.failures;
  run->record.losses = decision.losses;
  run->record.retries = decision.retries;
  const bool planned = !run->kept.empty() || !run->goes_on_with.empty();
  run->kept.clear();
  if (decision.state != RunState::kQueued) {
    return EndAll(turn, {run, decision.state, decision.reason, decision.exit_code, ended_at});
  }
  state_->runs.SetState(run, RunState::kQueued);
  run->record.reason = decision.reason;
  const bool at_once = decision.delay == absl::ZeroDuration();
  run->record.retry_at = at_once ? absl::InfinitePast() : turn.wall() + decision.delay;
  turn.Save(run->record);
  std::string text = decision.reason;
  if (!at_once) absl::StrAppend(&text, "; starts again in ", HumanDuration(decision.delay));
  turn.Event(event::kRunRequeued, About(AttemptRef{run->id(), run->record.attempts}), text,
             planned ? Severity::kInfo : Severity::kWarning);
  if (at_once) return Enqueue(run);
  run->goes_on_with.clear();
  BackOff(run, turn.mono() + decision.delay);
}

void RunLedger::BackOff(Run* run, MonoTime until) {
  run->retry_at = until;
  state_->backing_off.push_back(run->id());
  state_->timers.Set(Alarm::kRetry, run->id(), until);
}

void RunLedger::RetryNow(Run* run) {
  if (run->record.state != RunState::kQueued || state_->queue.Contains(*run)) return;
  Enqueue(run);
  state_->capacity_changed = true;  // devices may have been kept for it that it does not take
}

void RunLedger::End(Turn& turn, Run* run, RunState state, const std::string& reason,
                    int32_t exit_code) {
  EndAll(turn, {run, state, reason, exit_code, turn.wall()});
}

void RunLedger::EndAll(Turn& turn, const RunEnd& first) {
  // This is a list and not recursion, since a chain of runs that wait for each other may be long.
  std::vector<RunEnd> endings = {first};
  while (!endings.empty()) {
    const RunEnd ending = std::move(endings.back());
    endings.pop_back();
    EndOne(turn, ending);
    ReleaseWaiting(turn, ending, &endings);
    state_->runs.Remove(ending.run->id());
  }
}

void RunLedger::EndOne(Turn& turn, const RunEnd& ending) {
  RunRecord& record = ending.run->record;
  if (state_->queue.Contains(*ending.run)) state_->queue.Erase(ending.run);
  state_->capacity_changed = true;  // it may have held its place in front of others
  for (Alarm alarm : {Alarm::kPhase, Alarm::kFence, Alarm::kRetry, Alarm::kRendezvous,
                      Alarm::kLastCall, Alarm::kGrow}) {
    state_->timers.Stop(alarm, record.id);
  }
  state_->runs.SetState(ending.run, ending.state);
  record.reason = ending.reason;
  record.exit_code = ending.exit_code;
  // The clocks of two nodes tell when its first rank started and when its last one ended.
  record.ended_at = std::max(ending.ended_at, record.started_at);
  turn.Save(record);
  const bool wanted = ending.state == RunState::kSucceeded || ending.state == RunState::kCancelled;
  turn.Event(EventOf(ending.state), About(AttemptRef{record.id, record.attempts}), ending.reason,
             wanted ? Severity::kInfo : Severity::kError);
}

void RunLedger::ReleaseWaiting(const Turn& turn, const RunEnd& ending,
                               std::vector<RunEnd>* endings) {
  auto waiting = waiting_for_.extract(ending.run->id());
  if (waiting.empty()) return;
  for (RunId id : waiting.mapped()) {
    Run* run = state_->runs.Find(id);
    if (run == nullptr) continue;  // it was cancelled meanwhile
    if (ending.state == RunState::kSucceeded) {
      Enqueue(run);
    } else {
      const std::string how = absl::StrCat("ended as ", Name(ending.state));
      endings->push_back(
          {run, RunState::kFailed, NeverSucceeds(ending.run->id(), how), kExitNotRun, turn.wall()});
    }
  }
}

}  // namespace hpc::coordinator
