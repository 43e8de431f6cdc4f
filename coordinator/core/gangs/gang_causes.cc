// Why an attempt ends: this file gathers its causes, and writes down which of them decides.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/text.h"
#include "coordinator/core/gangs/finished_ranks.h"
#include "coordinator/core/gangs/gangs.h"

namespace hpc::coordinator {
namespace {

AttemptOutcome OutcomeOf(protocol::HaltKind kind) {
  return kind == protocol::HaltKind::kOwner || kind == protocol::HaltKind::kLeaving
             ? AttemptOutcome::kReclaimed
             : AttemptOutcome::kNodeLost;
}

}  // namespace

Window Gangs::WhenOn(const std::string& name, Now now, absl::Duration ago,
                     absl::Duration within) const {
  Window when = state_->nodes.Find(name)->clock.Before(ago, now.mono);
  when.earliest = when.earliest - within;
  return when;
}

std::optional<NodeWindow> Gangs::WhenOnNode(const std::string& name, absl::Duration ago,
                                            absl::Duration within) const {
  return state_->nodes.Find(name)->clock.BeforeOnNode(ago, within);
}

std::optional<Cause> Gangs::CauseOf(const Turn& turn, const Attempt& attempt,
                                    const std::string& node, const protocol::Halt& halt) const {
  if (halt.kind == protocol::HaltKind::kNone) return std::nullopt;
  Window when = WhenOn(node, turn.now(), halt.ago, halt.within);
  // Until the clocks have been compared, the halt may be as old as the attempt: a coordinator may
  // read a hello long after it was sent.
  const NodeClock& clock = state_->nodes.Find(node)->clock;
  if (clock.told() && !clock.bounded()) {
    when.earliest = std::min(when.earliest, attempt.began);
  }
  const std::string own = absl::StrCat(node, ": ");
  const std::string text = halt.kind == protocol::HaltKind::kOwner
                               ? halt.reason
                               : absl::StrCat(own, absl::StripPrefix(halt.reason, own));
  Cause cause = ClusterCause(OutcomeOf(halt.kind), node, when, text);
  cause.there = WhenOnNode(node, halt.ago, halt.within);
  return cause;
}

void Gangs::LearnFailure(const Turn& turn, Run* run, const RankRecord& rank,
                         protocol::RankAges ago) {
  Attempt& attempt = *run->attempt;
  Cause cause =
      FailureOf(rank, WhenOn(rank.node, turn.now(), ago.ended, ago.ended_within),
                WhenOnNode(rank.node, ago.ended, ago.ended_within), run->request().retry_exits);
  // A rank that needs the store once more fails because it is gone, in whatever words the program
  // has for that.
  if (!attempt.store_lost_with.empty()) {
    cause.kind = CauseKind::kCluster;
    cause.outcome = AttemptOutcome::kNodeLost;
    cause.text = absl::StrCat("its rendezvous store was lost with the worker of ",
                              attempt.store_lost_with, ", and then ", cause.text);
  }
  attempt.causes.Add(std::move(cause));
}

// Where ranks complain about peers at a time when the connection to one of their nodes carried
// nothing, that is why: it need not last for a lease, since programs have time limits of their own.
void Gangs::LearnHeldUp(Attempt* attempt) {
  if (attempt->members.size() < 2 || !attempt->causes.AllComplainOfPeers()) return;
  const Window complained = attempt->causes.Deciding().when;
  for (const Member& m : attempt->members) {
    const std::string& node = m.placement.node;
    const std::optional<Window>& held_up = state_->nodes.Find(node)->held_up;
    if (!held_up || attempt->WorkIsDoneOn(node) || held_up->latest < complained.earliest ||
        complained.latest < held_up->earliest) {
      continue;
    }
    attempt->causes.Add(
        ClusterCause(AttemptOutcome::kNodeLost, node, *held_up,
                     absl::StrCat("nothing passed to and from ", node, " for ",
                                  HumanDuration(held_up->latest - held_up->earliest))));
    return;
  }
}

bool Gangs::TakeVerdict(Now now, Attempt* attempt) {
  LearnHeldUp(attempt);
  attempt->causes.Narrow(state_->nodes, now.mono);
  const Cause& cause = attempt->causes.Deciding();
  const std::string reason = attempt->causes.Reason() + WhoHadFinished(*attempt, cause);
  AttemptRecord& record = attempt->record;
  if (cause == attempt->decided && reason == record.reason) return false;
  attempt->decided = cause;
  record.outcome = cause.outcome;
  record.reason = reason;
  record.caused_from = now.wall - (now.mono - cause.when.earliest);
  record.caused_until = now.wall - (now.mono - cause.when.latest);
  record.exit_code = cause.exit_code;
  record.free_of_charge = cause.free_of_charge;
  return true;
}

void Gangs::JudgeAgain(Turn& turn, Run* run) {
  Attempt& attempt = *run->attempt;
  if (!attempt.stopping()) return;
  if (!TakeVerdict(turn.now(), &attempt)) return;
  run->record.reason = attempt.record.reason;
  turn.Save(attempt.record);
  turn.Save(run->record);
}

void Gangs::StopForFailures(Turn& turn, Run* run) {
  Attempt& attempt = *run->attempt;
  if (attempt.causes.empty()) return;
  if (attempt.stopping()) return JudgeAgain(turn, run);
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

}  // namespace hpc::coordinator
