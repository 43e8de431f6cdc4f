#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/signal_name.h"
#include "common/text.h"
#include "coordinator/core/gangs/gangs.h"
#include "coordinator/core/gangs/requeued.h"
#include "coordinator/core/policy/fence.h"
#include "coordinator/core/state/holdings.h"
#include "coordinator/core/values/exit_words.h"

namespace hpc::coordinator {
namespace {

// The grace of a gang that has lost a node and need not wait for it. The other ranks soon wait for
// the lost ones, in a call that no handler of SIGTERM can interrupt. A longer grace would only be
// waited out, and save nothing.
constexpr absl::Duration kLossGrace = absl::Milliseconds(500);

// How often it is looked whether a verdict may still change.
constexpr absl::Duration kLookAgain = absl::Milliseconds(100);

bool AllRanksEndedOn(const Attempt& attempt, const std::string& node) {
  return std::all_of(attempt.ranks.begin(), attempt.ranks.end(), [&](const RankRecord& rank) {
    return rank.node != node || rank.exit.has_value();
  });
}

// When the last rank ended, if all ends are known; otherwise now.
absl::Time EndOf(const Attempt& attempt, absl::Time now) {
  absl::Time last = absl::InfinitePast();
  for (const RankRecord& rank : attempt.ranks) {
    if (rank.pid == 0) continue;
    if (!rank.exit.has_value()) return now;
    last = std::max(last, rank.ended_at);
  }
  return last == absl::InfinitePast() ? now : std::min(last, now);
}

// Says how a rank ended that had been told to end. If it was killed, its grace may have been too
// short, so the time that it had is said, too.
std::string EndInWords(const Attempt& attempt, const protocol::RankExit& exit,
                       const Moment& ended) {
  const absl::Duration had = ended.when.latest - attempt.stopping_since;
  const bool killed = exit.signal && SignalName(*exit.signal) == "SIGKILL" && attempt.stopping() &&
                      had >= absl::Seconds(1);
  return absl::StrCat(ExitWords(exit), ", ", killed ? HumanDuration(had) + " " : "",
                      "after it was told to end");
}

}  // namespace

void Gangs::RankEnded(Turn& turn, Run* run, Member* member, int32_t number,
                      const protocol::RankExit& exit, const RankEnd& end) {
  Attempt& attempt = *run->attempt;
  if (number < 0 || number >= attempt.record.world_size) return;
  RankRecord& rank = attempt.ranks[static_cast<size_t>(number)];
  if (rank.node != member->placement.node || rank.exit.has_value()) return;
  rank.exit = exit;
  // How long the rank ran is what the node measured, whatever our wall clock has done since its
  // start.
  const Moment& ended = end.ended;
  rank.ended_from = turn.WallOf(ended.when.earliest);
  rank.ended_at = turn.WallOf(ended.when.latest);
  if (rank.pid != 0) rank.started_at = rank.ended_at - end.ran;
  turn.Save(rank);
  Subject about = About(attempt.ref(), rank.node);
  about.rank = number;
  if (SucceededByItself(exit)) {
    turn.Event(event::kRankExited, about, "exited with code 0");
    ++attempt.ranks_done;
    if (attempt.stopping()) return verdicts_.JudgeAgain(turn, run);
    if (attempt.AllRanksDone()) return WatchLinger(turn, run);
    return StopForFailures(turn, run);
  }
  if (exit.after_stop) {
    turn.Event(event::kRankExited, about, EndInWords(attempt, exit, ended));
    // Then its worker told it to end, and mostly says why when all of its ranks are gone.
    if (!attempt.stopping()) {
      Cause cause = ClusterCause(AttemptOutcome::kNodeLost, rank.node, ended.when,
                                 absl::StrCat(rank.node,
                                              " ended its ranks without an order of the "
                                              "coordinator and has not said why (its owner, a lost "
                                              "connection, or a stop of its worker)"));
      cause.guessed = true;
      cause.rank = rank.rank;
      cause.there = ended.there;
      StopFor(turn, run, cause, run->request().stop_grace);
    } else {
      verdicts_.LearnEarlierFailure(turn, run, rank);
    }
    return;
  }
  turn.Event(event::kRankFailed, about, ExitWords(exit), Severity::kError);
  verdicts_.LearnFailure(turn.now(), run, rank, ended);
  if (end.apart) verdicts_.LearnApart(turn, &attempt, rank, *end.apart);
  StopForFailures(turn, run);
}

void Gangs::StoreLost(Turn& turn, Run* run, Member* member, absl::Duration ago) {
  Attempt& attempt = *run->attempt;
  const std::string& node = member->placement.node;
  if (attempt.store_lost && attempt.store_lost->node == node) return;
  const Node& host = *state_->nodes.Find(node);
  const MonoTime by = host.clock.Before(ago, turn.mono()).latest;
  const Window when{std::min(host.silence_before.earliest, by), by};
  attempt.store_lost =
      ClusterCause(AttemptOutcome::kNodeLost, node, when,
                   absl::StrCat("its rendezvous store was lost with the worker of ", node));
  if (attempt.causes.empty()) return;
  // A failure that has been heard already may be one for want of the store.
  attempt.causes.Learn(*attempt.store_lost);
  StopForFailures(turn, run);
}

void Gangs::Halted(Turn& turn, Run* run, Member* member, const std::optional<Cause>& why) {
  Attempt& attempt = *run->attempt;
  const std::string& node = member->placement.node;
  // A node that has no ranks yet is judged when it returns the attempt.
  if (!member->Reached(MemberStage::kToldToStart) || member->placement.returned ||
      attempt.WorkIsDoneOn(node))
    return;
  if (why) attempt.causes.Learn(*why);
  StopForFailures(turn, run);
}

void Gangs::Returned(Turn& turn, Run* run, Member* member, const std::optional<Cause>& why) {
  if (!member->placement.returned && !member->disowned()) TakeReturn(turn, run, member, why);
}

void Gangs::Restarted(Turn& turn, Run* run, Member* member, bool holds) {
  const std::string& node = member->placement.node;
  const Cause cause =
      ClusterCause(AttemptOutcome::kNodeLost, node, state_->nodes.Find(node)->silence_before,
                   absl::StrCat(node, ": the PC has restarted"));
  holds ? Halted(turn, run, member, cause) : TakeReturn(turn, run, member, cause);
}

void Gangs::TakeReturn(Turn& turn, Run* run, Member* member, const std::optional<Cause>& why) {
  Attempt& attempt = *run->attempt;
  const std::string& node = member->placement.node;
  const bool done = attempt.WorkIsDoneOn(node);
  GiveBack(turn, state_, run, member);
  if (!EndedWell(attempt, *member)) TakePromise(turn.mono(), MonoTime::Infinite(), member);
  lost_nodes_.Arm(run);
  if (attempt.stopping()) {
    if (why && !done) attempt.causes.Learn(*why);
    if (!why) attempt.causes.Withdraw(node);
    verdicts_.JudgeAgain(turn, run);
    FinishIfReturned(turn, run);
    return;
  }
  if (AllRanksEndedOn(attempt, node)) {
    if (attempt.causes.empty()) {
      if (attempt.AllReturned()) Finish(turn, run);
      return;
    }
    if (why && !done) attempt.causes.Learn(*why);
    return StopForFailures(turn, run);
  }
  const protocol::Halt unsaid{protocol::HaltKind::kSupervisorLost,
                              "returned its devices without saying how its ranks ended"};
  const Cause cause = why ? *why : *verdicts_.CauseOf(turn, attempt, node, unsaid);
  if (!member->Reached(MemberStage::kToldToStart)) {
    return Stop(turn, run, {AttemptOutcome::kStartFailed, cause.text, run->request().stop_grace});
  }
  if (!member->Reached(MemberStage::kStarted)) {
    const absl::string_view why_not = absl::StripPrefix(cause.text, absl::StrCat(node, ": "));
    state_->nodes.Find(node)->MakeUnable(
        turn.mono(), absl::StrCat("could not start run ", run->id(), ": ", why_not));
  }
  attempt.causes.Learn(cause);
  StopForFailures(turn, run);
}

void Gangs::Disowned(Turn& turn, Run* run, Member* member) {
  const std::string& node = member->placement.node;
  const std::string why = "its worker no longer has the attempt";
  // Without an order to start there can be no rank there, and ranks that have ended are not there
  // any more.
  if (!member->Reached(MemberStage::kToldToStart) || AllRanksEndedOn(*run->attempt, node)) {
    return Returned(
        turn, run, member,
        verdicts_.CauseOf(turn, *run->attempt, node, {protocol::HaltKind::kSupervisorLost, why}));
  }
  const MemberContact before = std::exchange(member->contact, MemberContact::kDisowned);
  if (before == MemberContact::kThere) {
    member->lost_at = turn.mono();
    lost_nodes_.Arm(run);
    lost_nodes_.AskForRecall(turn, *run, member, run->request().stop_grace);
  }
  const Window when{state_->nodes.Find(node)->silence_before.earliest, turn.mono()};
  const std::string text =
      absl::StrCat(node, ": ", why, "; its ranks may still run there, and stop by themselves in ",
                   HumanDuration(member->fence - turn.mono()), " at the latest");
  StopFor(turn, run, ClusterCause(AttemptOutcome::kNodeLost, node, when, text),
          run->request().stop_grace);
}

void Gangs::NodeGone(Turn& turn, Node* node, AttemptOutcome outcome, const std::string& why) {
  const Cause cause = ClusterCause(outcome, node->name(), node->Silence(turn.now()), why);
  for (Run* run : RunsOn(state_, *node)) {
    Attempt& attempt = *run->attempt;
    Member* member = attempt.FindMember(node->name());
    if (!member->lost()) member->contact = MemberContact::kLost;
    // Without an order to start there can be no rank there.
    if (!member->Reached(MemberStage::kToldToStart)) {
      GiveBack(turn, state_, run, member);
    } else {
      member->lost_at = node->lease.heard();
      lost_nodes_.Arm(run);
    }
    const bool hurry = outcome == AttemptOutcome::kNodeLost && attempt.witnessed;
    const absl::Duration grace = hurry ? kLossGrace : run->request().stop_grace;
    if (outcome == AttemptOutcome::kNodeLost) lost_nodes_.AskForRecall(turn, *run, member, grace);
    for (Member& other : attempt.members) lost_nodes_.NotRecalled(turn, run, &other, node->name());
    StopFor(turn, run, cause, grace);
  }
  GoesDown(turn, node, cause);
}

void Gangs::GoesDown(Turn& turn, Node* node, const Cause& why) {
  node->went_down = why;
  for (const RunId id : state_->runs.Ids()) {
    Run* const run = state_->runs.Find(id);
    if (run == nullptr || run->attempt == nullptr || run->attempt->causes.empty()) continue;
    if (verdicts_.LearnGoingDown(turn.now(), run->attempt.get())) WordOver(turn, run);
  }
}

bool Gangs::FinishIfReturned(Turn& turn, Run* run) {
  Attempt& attempt = *run->attempt;
  if (!attempt.AllReturned()) return false;
  if (!attempt.AllRanksDone() && verdicts_.MayChange(turn, &attempt)) {
    state_->timers.Set(Alarm::kWord, run->id(), turn.mono() + kLookAgain);
    return false;
  }
  Finish(turn, run);
  return true;
}

void Gangs::FencePassed(Turn& turn, Run* run) {
  lost_nodes_.Pass(turn, run);
  FinishIfReturned(turn, run);
}

void Gangs::Recalled(Turn& turn, Run* run, Member* lost, const std::string& by) {
  lost_nodes_.Recalled(turn, run, lost, by);
  FinishIfReturned(turn, run);
}

void Gangs::WordOver(Turn& turn, Run* run) {
  if (!run->attempt->stopping()) return StopForFailures(turn, run);
  verdicts_.JudgeAgain(turn, run);
  FinishIfReturned(turn, run);
}

void Gangs::ClockCompared(Now now) {
  for (const RunId id : state_->runs.Ids()) {
    const Run* const run = state_->runs.Find(id);
    if (run->attempt != nullptr && run->attempt->stopping()) {
      state_->timers.Set(Alarm::kWord, id, now.mono);
    }
  }
}

void Gangs::Finish(Turn& turn, Run* run) {
  const absl::Time ended_at = EndOf(*run->attempt, turn.wall());
  const absl::Duration ago = turn.wall() - ended_at;
  Ending ending = EndingOf(*run, turn.mono() - run->attempt->running_since - ago);
  const std::unique_ptr<Attempt> attempt = std::move(run->attempt);
  AttemptRecord& record = attempt->record;
  record.ended_at = ended_at;
  record.outcome = ending.outcome;
  record.reason = ending.reason;
  SetState(attempt.get(), AttemptState::kEnded);
  turn.Save(record);
  for (const Member& m : attempt->members) {
    const Node* node = state_->nodes.Find(m.placement.node);
    if (m.Reached(MemberStage::kToldToPrepare) && node->connected())
      turn.Tell(node->name(), protocol::Forget{record.ref});
  }
  state_->timers.Stop(Alarm::kPhase, run->id());
  state_->timers.Stop(Alarm::kFence, run->id());
  state_->timers.Stop(Alarm::kWord, run->id());
  state_->timers.Stop(Alarm::kRendezvous, run->id());
  state_->timers.Stop(Alarm::kGrow, run->id());
  run->last_nodes = attempt->NodeNames();
  RetryDecision decision = DecideRetry(run->record, ending, state_->options);
  if (decision.state == RunState::kCancelled && !run->cancel_reason.empty()) {
    decision.reason = run->cancel_reason;
  }
  ledger_->Carry(turn, run, decision, record.ended_at);
}

}  // namespace hpc::coordinator
