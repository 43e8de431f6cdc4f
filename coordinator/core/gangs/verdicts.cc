#include "coordinator/core/gangs/verdicts.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/text.h"
#include "coordinator/core/gangs/finished_ranks.h"
#include "coordinator/core/gangs/possible_answers.h"
#include "protocol/sigterm_answer.h"

namespace hpc::coordinator {
namespace {

AttemptOutcome OutcomeOf(protocol::HaltKind kind) {
  return kind == protocol::HaltKind::kOwner || kind == protocol::HaltKind::kLeaving
             ? AttemptOutcome::kReclaimed
             : AttemptOutcome::kNodeLost;
}

// Whether what ended at `ended` may have answered the SIGTERM of a PC that went down at `down`.
bool MayHaveAnswered(const Window& ended, const Window& down) {
  return down.earliest <= ended.latest + protocol::kSigtermSpread &&
         ended.earliest <= down.latest + protocol::kSigtermSpread;
}

CauseRecord RecordOf(const Cause& cause, Now now) {
  const auto wall = [now](MonoTime at) { return now.wall - (now.mono - at); };
  CauseRecord record{.kind = cause.kind, .rank = cause.rank};
  if (IsFailure(cause)) return record;
  record.outcome = cause.outcome;
  record.from = wall(cause.when.earliest);
  record.until = wall(cause.when.latest);
  record.node = cause.node;
  record.text = cause.text;
  record.exit_code = cause.exit_code;
  record.free_of_charge = cause.free_of_charge;
  record.guessed = cause.guessed;
  record.of_complaints = cause.of_complaints;
  return record;
}

}  // namespace

RankEnd RankEndOf(const NodeClock& clock, const protocol::RankAges& ago, MonoTime now) {
  return {clock.Before(ago.ended, ago.ended_within, now), ago.started - ago.ended, ago.apart};
}

std::optional<Cause> Verdicts::CauseOf(const Turn& turn, const Attempt& attempt,
                                       const std::string& node, const protocol::Halt& halt) const {
  if (halt.kind == protocol::HaltKind::kNone) return std::nullopt;
  const NodeClock& clock = state_->nodes.Find(node)->clock;
  Moment halted = clock.Before(halt.ago, halt.within, turn.mono());
  // Until the clocks have been compared, the halt may be as old as the attempt: a coordinator may
  // read a hello long after it was sent.
  if (clock.told() && !clock.bounded()) {
    halted.when.earliest = std::min(halted.when.earliest, attempt.began);
  }
  return CauseOf(node, halt, halted);
}

std::optional<Cause> Verdicts::CauseOf(const std::string& node, const protocol::Halt& halt,
                                       const Moment& halted) const {
  if (halt.kind == protocol::HaltKind::kNone) return std::nullopt;
  const std::string own = absl::StrCat(node, ": ");
  const std::string text = halt.kind == protocol::HaltKind::kOwner
                               ? halt.reason
                               : absl::StrCat(own, absl::StripPrefix(halt.reason, own));
  Cause cause = ClusterCause(OutcomeOf(halt.kind), node, halted.when, text);
  cause.there = halted.there;
  return cause;
}

void Verdicts::LearnFailure(Now now, Run* run, const RankRecord& rank, const Moment& ended) {
  Attempt& attempt = *run->attempt;
  Cause failure = FailureOf(rank, ended, run->request().retry_exits);
  failure.told = now.mono;
  attempt.causes.Add(failure);
  if (!attempt.store_lost) return;
  // Ranks that were waiting for the store when it died may fail in any words. Ranks that need it
  // later complain about a peer.
  Cause lost = *attempt.store_lost;
  lost.of_complaints = failure.when.earliest > lost.when.latest + kWordOfPeer;
  attempt.causes.Learn(lost);
}

void Verdicts::LearnEarlierFailure(Turn& turn, Run* run, const RankRecord& rank) {
  const std::string spoken_of = SpokenOf(rank);
  if (spoken_of.empty()) return;
  run->attempt->causes.LearnSpokenOf(spoken_of);
  JudgeAgain(turn, run);
}

void Verdicts::LearnApart(const Turn& turn, Attempt* attempt, const RankRecord& rank,
                          const protocol::Apart& apart) {
  const NodeClock& clock = state_->nodes.Find(rank.node)->clock;
  const Moment parted = clock.Before(apart.until, apart.from - apart.until, turn.mono());
  if (attempt->stopping() && parted.when.earliest >= attempt->stopping_since) return;
  const absl::Duration lasted = apart.from - apart.until;
  if (lasted < protocol::kApart) return;
  // A connection that carried nothing for some time may carry nothing for as long again, because
  // TCP waits longer each time before it tries again. A launcher ends a while after it complained.
  if (attempt->causes.Deciding().when.earliest > parted.when.latest + lasted + kWordOfPeer) return;
  Cause cause = ClusterCause(
      AttemptOutcome::kNodeLost, rank.node, parted.when,
      absl::StrCat(rank.node, " did not hear all others of the gang for ", HumanDuration(lasted)));
  cause.there = parted.there;
  cause.of_complaints = true;
  attempt->causes.AddOnce(std::move(cause));
}

void Verdicts::ToldAgain(const Turn& turn, Run* run, const Member& member,
                         const protocol::HeldAttempt& held) {
  Attempt& attempt = *run->attempt;
  const std::string& node = member.placement.node;
  const NodeClock& clock = state_->nodes.Find(node)->clock;
  for (const protocol::HeldRank& rank : held.ranks) {
    if (!rank.exit.has_value()) continue;
    const Moment reaped = clock.Before(rank.ago.ended, rank.ago.ended_within, turn.mono());
    attempt.causes.DateEnd(node, rank.rank, FailedAt(*rank.exit, reaped).there);
    // A rank that was told to end ended because of that, whatever its node heard of others.
    if (!rank.ago.apart || rank.exit->after_stop) continue;
    if (attempt.causes.empty() || attempt.stopped_before) continue;
    for (const RankRecord& known : attempt.ranks) {
      if (known.rank != rank.rank || known.node != node || !known.exit) continue;
      LearnApart(turn, &attempt, known, *rank.ago.apart);
    }
  }
  if (const auto halt = CauseOf(turn, attempt, node, held.halt)) attempt.causes.DateHalt(*halt);
}

// If all failures so far are complaints about a peer, and nothing passed between the coordinator
// and a node of the gang at that time, that silence is the cause. It may be shorter than a lease,
// since programs have time limits of their own.
void Verdicts::LearnHeldUp(Now now, Attempt* attempt) {
  if (attempt->members.size() < 2 || !attempt->causes.AllComplainOfPeers()) return;
  const Window complained = attempt->causes.Deciding().when;
  const bool met = attempt->rendezvous && !attempt->rendezvous->arrivals.empty();
  for (const Member& m : attempt->members) {
    const Node& node = *state_->nodes.Find(m.placement.node);
    // A node whose part has returned still serves the store, but nobody waits for what it will say.
    const bool serves = met && m.placement.node_rank == 0;
    const bool away = serves && m.placement.returned && !node.connected() && !node.lost();
    const std::optional<Window> held_up = away ? node.Silence(now) : node.held_up;
    const bool needed = serves || !attempt->WorkIsDoneOn(node.name());
    if (!needed || !held_up || complained.SurelyBefore(*held_up)) continue;
    const absl::Duration lasted = held_up->latest - held_up->earliest;
    if (complained.earliest > held_up->latest + lasted + kWordOfPeer) continue;
    Cause cause = ClusterCause(
        AttemptOutcome::kNodeLost, node.name(), *held_up,
        absl::StrCat("nothing passed to and from ", node.name(), " for ", HumanDuration(lasted)));
    cause.of_complaints = true;
    attempt->causes.Add(std::move(cause));
    return;
  }
}

bool Verdicts::LearnGoingDown(Now now, Attempt* attempt) {
  const bool answered = LearnPossibleAnswer(now, attempt);
  return LearnSigtermFailure(attempt) || answered;
}

bool Verdicts::LearnPossibleAnswer(Now now, Attempt* attempt) {
  bool learnt = false;
  for (const PossibleAnswer& end :
       PossibleAnswersBefore(*attempt, attempt->causes.Deciding(), now)) {
    const Node* const node = state_->nodes.Find(end.node);
    if (node == nullptr || !node->went_down) continue;
    if (!MayHaveAnswered(end.when, node->went_down->when)) continue;
    Cause since = *node->went_down;
    since.when.earliest = std::min(end.when.earliest, since.when.latest);
    since.there.reset();  // the rank's end dates it better than the node's clock
    attempt->causes.LearnSince(since);
    learnt = true;
  }
  return learnt;
}

bool Verdicts::LearnSigtermFailure(Attempt* attempt) {
  const Cause& failure = attempt->causes.Deciding();
  const Node* const node = state_->nodes.Find(failure.node);
  if (node == nullptr || !node->went_down) return false;
  // A PC that goes down may kill what does not end. Only its next boot tells of that.
  const bool killed = failure.kind == CauseKind::kKilled && failure.there &&
                      failure.there->era != node->clock.era();
  if (!failure.may_answer_sigterm && !killed) return false;
  if (!MayHaveAnswered(failure.when, node->went_down->when)) return false;
  attempt->causes.Learn(*node->went_down);
  return true;
}

bool Verdicts::TakeVerdict(Now now, Attempt* attempt) {
  LearnHeldUp(now, attempt);
  attempt->causes.Narrow(state_->nodes, now.mono);
  LearnGoingDown(now, attempt);
  const Cause& cause = attempt->causes.Deciding();
  std::string reason = attempt->causes.Reason();
  if (reason == cause.text) reason = WithWhoHadFinished(*attempt, cause, reason);
  AttemptRecord& record = attempt->record;
  std::vector<Cause> causes = attempt->causes.UpToLastOther();
  if (cause == attempt->decided && causes == attempt->recorded && reason == record.reason) {
    return false;
  }
  attempt->decided = cause;
  attempt->recorded = std::move(causes);
  record.outcome = cause.outcome;
  record.reason = reason;
  record.caused_from = now.wall - (now.mono - cause.when.earliest);
  record.caused_until = now.wall - (now.mono - cause.when.latest);
  record.exit_code = cause.exit_code;
  record.free_of_charge = cause.free_of_charge;
  record.causes.clear();
  for (const Cause& one : attempt->recorded) record.causes.push_back(RecordOf(one, now));
  return true;
}

void Verdicts::JudgeAgain(Turn& turn, Run* run) {
  Attempt& attempt = *run->attempt;
  if (!attempt.stopping()) return;
  if (!TakeVerdict(turn.now(), &attempt)) return;
  run->record.reason = attempt.record.reason;
  turn.Save(attempt.record);
  turn.Save(run->record);
}

bool Verdicts::MayChange(const Turn& turn, Attempt* attempt) const {
  // A node that is silent for long counts as lost, and then it is not connected.
  if (attempt->causes.AwaitsWord(state_->nodes, turn.now())) return true;
  if (!NodeThatMayGoDown(state_->nodes, *attempt, turn.now()).empty()) return true;
  if (!attempt->causes.AwaitsClocks(state_->nodes)) return false;
  if (attempt->settled_at == MonoTime{}) attempt->settled_at = turn.mono() + kWordOfPeer;
  return turn.mono() < attempt->settled_at;
}

}  // namespace hpc::coordinator
