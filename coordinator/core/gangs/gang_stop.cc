#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "coordinator/core/gangs/gangs.h"
#include "coordinator/core/state/holdings.h"
#include "coordinator/core/values/cluster_options.h"

namespace hpc::coordinator {
namespace {

// Devices that have not come back this long after the grace are reported.
constexpr absl::Duration kUnreturnedAfter = absl::Seconds(10);

// Devices may stay taken this long after every rank has exited. A supervisor has killed the
// processes that were left behind by then. If it has not, it is told to.
constexpr absl::Duration kLinger = absl::Seconds(7);

bool Wanted(AttemptOutcome outcome) {
  return outcome == AttemptOutcome::kSucceeded || outcome == AttemptOutcome::kGrown ||
         outcome == AttemptOutcome::kShrunk;
}

void ReportUnreturned(Turn& turn, const Attempt& attempt) {
  std::vector<std::string> names;
  std::string survivors;
  for (const Member& m : attempt.members) {
    if (m.placement.returned || m.lost() || !m.Reached(MemberStage::kToldToStart)) continue;
    names.push_back(m.placement.node);
    const std::string doing = m.Doing(-1);
    if (!doing.empty()) {
      absl::StrAppend(&survivors, "; SIGKILL did not end all on ", m.placement.node, ": ", doing);
    }
  }
  if (names.empty()) return;
  turn.Event(
      event::kAttemptUnreturned, About(attempt.ref()),
      absl::StrCat(JoinWords(names), names.size() == 1 ? " has" : " have", " not returned devices ",
                   HumanDuration(turn.mono() - attempt.stopping_since),
                   " after the ranks were told to end", survivors),
      Severity::kWarning);
}

}  // namespace

void Gangs::Stop(Turn& turn, Run* run, const StopOrder& order) {
  Cause cause = OrderedCause(order.outcome, turn.mono(), order.reason);
  cause.exit_code = order.exit_code;
  cause.free_of_charge = order.free_of_charge;
  StopFor(turn, run, cause, order.grace);
}

void Gangs::StopFor(Turn& turn, Run* run, const Cause& cause, absl::Duration grace) {
  Attempt& attempt = *run->attempt;
  attempt.causes.Learn(cause);
  if (!attempt.stopping()) return BeginStop(turn, run, grace);
  verdicts_.JudgeAgain(turn, run);
  Hasten(turn, run, grace);
  FinishIfReturned(turn, run);
}

void Gangs::BeginStop(Turn& turn, Run* run, absl::Duration grace) {
  Attempt& attempt = *run->attempt;
  SetState(&attempt, AttemptState::kStopping);
  verdicts_.TakeVerdict(turn.now(), &attempt);
  attempt.stopping_since = turn.mono();
  attempt.stop_grace = std::min(grace, run->request().stop_grace);
  state_->timers.Stop(Alarm::kWord, run->id());
  state_->runs.SetState(run, RunState::kStopping);
  run->record.reason = attempt.record.reason;
  for (Member& m : attempt.members) {
    if (m.placement.returned) continue;
    if (!m.Reached(MemberStage::kToldToPrepare)) {  // it has never heard of the attempt
      GiveBack(turn, state_, run, &m);
    } else {
      RepeatStop(turn, *run, m);
    }
  }
  if (FinishIfReturned(turn, run)) return;
  turn.Save(attempt.record);
  turn.Save(run->record);
  turn.Event(event::kRunStopping, About(attempt.ref()), attempt.record.reason,
             Wanted(attempt.record.outcome) ? Severity::kInfo : Severity::kWarning);
  Watch(run);
}

void Gangs::StopForFailures(Turn& turn, Run* run) {
  Attempt& attempt = *run->attempt;
  if (attempt.causes.empty()) return;
  if (attempt.stopping()) return verdicts_.JudgeAgain(turn, run);
  const bool may_ask = !run->request().retry_exits.empty();
  if (attempt.causes.MayBeConsequences(may_ask) && attempt.SomeRankRuns()) {
    if (attempt.word_of_peer_until == MonoTime{}) {
      attempt.word_of_peer_until = turn.mono() + kWordOfPeer;
      state_->timers.Set(Alarm::kWord, run->id(), attempt.word_of_peer_until);
    }
    if (turn.mono() < attempt.word_of_peer_until) return;
  }
  BeginStop(turn, run, run->request().stop_grace);
}

void Gangs::RepeatStop(Turn& turn, const Run& run, const Member& member) {
  const Attempt& attempt = *run.attempt;
  const Node* node = state_->nodes.Find(member.placement.node);
  if (!node->connected() || member.disowned())
    return;  // it is told, with the attempt, when it is back
  const absl::Duration passed = turn.mono() - attempt.stopping_since;
  const absl::Duration left = std::max(attempt.stop_grace - passed, absl::ZeroDuration());
  turn.Tell(node->name(),
            protocol::Stop{attempt.ref(), left, attempt.record.reason, attempt.interrupt});
}

void Gangs::Hasten(Turn& turn, Run* run, absl::Duration grace) {
  Attempt& attempt = *run->attempt;
  const MonoTime end = turn.mono() + grace;
  if (end >= attempt.stopping_since + attempt.stop_grace) return;
  attempt.stop_grace = end - attempt.stopping_since;
  for (const Member& m : attempt.members) {
    if (!m.placement.returned) RepeatStop(turn, *run, m);
  }
  Watch(run);
}

void Gangs::StopAllOn(Turn& turn, const Node& node, const Cause& cause, absl::Duration grace) {
  for (Run* run : RunsOn(state_, node)) StopFor(turn, run, cause, grace);
}

void Gangs::HastenAllOn(Turn& turn, const Node& node, absl::Duration grace) {
  for (Run* run : RunsOn(state_, node)) {
    if (run->attempt->stopping()) Hasten(turn, run, grace);
  }
}

void Gangs::PhaseOver(Turn& turn, Run* run) {
  const Attempt& attempt = *run->attempt;
  const ClusterOptions& options = state_->options;
  StopOrder order{AttemptOutcome::kStartFailed, "", run->request().stop_grace};
  switch (attempt.record.state) {
    case AttemptState::kPreparing:
      order.reason =
          absl::StrCat(JoinWords(attempt.NodesShortOf(MemberStage::kPrepared)),
                       " did not prepare it within ", HumanDuration(options.prepare_timeout));
      Stop(turn, run, order);
      return LeaveUnstarted(turn, run);
    case AttemptState::kStarting:
      order.reason =
          absl::StrCat(JoinWords(attempt.NodesShortOf(MemberStage::kStarted)),
                       " did not start its ranks within ", HumanDuration(options.start_timeout));
      for (const Member& m : attempt.members) {
        if (m.Reached(MemberStage::kStarted)) continue;
        state_->nodes.Find(m.placement.node)
            ->MakeUnable(turn.mono(),
                         absl::StrCat("did not start the ranks of run ", run->id(), " within ",
                                      HumanDuration(options.start_timeout)));
      }
      return Stop(turn, run, order);
    case AttemptState::kRunning:
      if (attempt.AllRanksDone()) {
        order.outcome = AttemptOutcome::kSucceeded;
        order.reason = "every rank exited 0, but processes they started are still there";
      } else {
        order.outcome = AttemptOutcome::kTimedOut;
        order.reason =
            absl::StrCat("reached its time limit of ", HumanDuration(run->request().time_limit));
      }
      return Stop(turn, run, order);
    case AttemptState::kStopping:
      ReportUnreturned(turn, attempt);
      return LeaveUnstarted(turn, run);
    case AttemptState::kWaking:
    case AttemptState::kEnded:
      return;
  }
}

void Gangs::LeaveUnstarted(Turn& turn, Run* run) {
  Attempt& attempt = *run->attempt;
  for (Member& m : attempt.members) {
    if (m.Reached(MemberStage::kPrepared) || m.placement.returned) continue;
    const std::string& node = m.placement.node;
    if (state_->nodes.Find(node)->connected()) {
      state_->nodes.Find(node)->MakeUnable(
          turn.mono(), absl::StrCat("has not prepared run ", run->id(), " within ",
                                    HumanDuration(turn.mono() - attempt.began)));
    }
    GiveBack(turn, state_, run, &m);
  }
  FinishIfReturned(turn, run);
}

void Gangs::Watch(Run* run) {
  const Attempt& attempt = *run->attempt;
  MonoTime at = MonoTime::Infinite();
  if (attempt.record.state == AttemptState::kRunning && attempt.since_told) {
    at = attempt.running_since + run->request().time_limit;
  } else if (attempt.stopping()) {
    const bool ranks =
        std::any_of(attempt.members.begin(), attempt.members.end(),
                    [](const Member& m) { return m.Reached(MemberStage::kToldToStart); });
    at = attempt.stopping_since + kUnreturnedAfter;
    if (ranks) at = at + attempt.stop_grace;
  }
  state_->timers.Set(Alarm::kPhase, run->id(), at);
}

void Gangs::WatchLinger(Turn& turn, Run* run) {
  state_->timers.Set(Alarm::kPhase, run->id(), turn.mono() + kLinger);
}

}  // namespace hpc::coordinator
