#include "coordinator/core/gangs/lost_nodes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "coordinator/core/policy/fence.h"
#include "coordinator/core/state/holdings.h"

namespace hpc::coordinator {
namespace {

// If an alarm is late by more than this, the coordinator has stood still.
constexpr absl::Duration kStandstill = absl::Seconds(1);

}  // namespace

void LostNodes::Arm(Run* run) {
  const Attempt& attempt = *run->attempt;
  const FenceTimes times(state_->options.lease);
  MonoTime next = MonoTime::Infinite();
  for (Member& m : run->attempt->members) {
    if (!m.lost() || m.placement.returned) continue;
    m.fence = std::min(m.lost_at + LongestAlone(state_->options, run->request()),
                       DeadBy(times, attempt, m, HeardOf(m)).at);
    next = std::min(next, m.fence);
  }
  state_->timers.Set(Alarm::kFence, run->id(), next);
}

// A node that said that it goes may still be heard afterwards, and that counts. But a worker that
// does not know of the attempt prolongs nothing, however long it is heard.
MonoTime LostNodes::HeardOf(const Member& member) const {
  if (member.disowned()) return member.lost_at;
  return std::max(member.lost_at, state_->nodes.Find(member.placement.node)->lease.heard());
}

void LostNodes::Pass(Turn& turn, Run* run) {
  Attempt& attempt = *run->attempt;
  const FenceTimes times(state_->options.lease);
  Arm(run);
  for (Member& m : attempt.members) {
    if (!m.lost() || m.placement.returned || turn.mono() < m.fence) continue;
    const Fenced by = DeadBy(times, attempt, m, HeardOf(m));
    const bool unvouched = by.at <= turn.mono();
    turn.Event(
        event::kAttemptFenced, About(attempt.ref(), m.placement.node),
        absl::StrCat(m.placement.node,
                     m.disowned() ? " has not known of it for " : " has not been heard for ",
                     HumanDuration(turn.mono() - m.lost_at),
                     unvouched      ? absl::StrCat(", and ", by.by,
                                                   " does not vouch for it: its ranks are killed by now")
                     : m.disowned() ? ": its ranks have stopped by themselves by now"
                                    : ": its worker has stopped its ranks by now"),
        Severity::kWarning);
    GiveBack(turn, state_, run, &m);
  }
  Arm(run);
}

// ------------------------------------------------------------------------------------- recall

void LostNodes::AskForRecall(Turn& turn, const Run& run, Member* lost, absl::Duration grace) {
  if (lost->recall.port == 0 || lost->placement.returned) return;
  const Member* const before = run.attempt->FindMember(lost->recall_by);
  for (const Member& m : run.attempt->members) {
    const Node* node = state_->nodes.Find(m.placement.node);
    if (before != nullptr && m.placement.node_rank <= before->placement.node_rank) continue;
    if (&m == lost || m.lost() || !node->connected()) continue;
    lost->recall_by = node->name();
    turn.Tell(node->name(), protocol::Recall{run.attempt->ref(), lost->placement.node,
                                             lost->placement.address, lost->recall, grace});
    return;
  }
}

void LostNodes::NotRecalled(Turn& turn, Run* run, Member* lost, const std::string& by) {
  if (!lost->lost() || lost->recall_by != by) return;
  AskForRecall(turn, *run, lost, run->attempt->stop_grace);
}

void LostNodes::Recalled(Turn& turn, Run* run, Member* lost, const std::string& by) {
  if (!lost->lost() || lost->placement.returned) return;
  turn.Event(event::kAttemptFenced, About(run->attempt->ref(), lost->placement.node),
             absl::StrCat("its supervisor on ", lost->placement.node,
                          " has ended its ranks, as it was asked to by ", by));
  GiveBack(turn, state_, run, lost);
  Arm(run);
}

// ------------------------------------------------------------------------------------- doubts

void LostNodes::WatchSilence(const Attempt& attempt) {
  const FenceTimes times(state_->options.lease);
  for (const Member& m : attempt.members) {
    Node* node = state_->nodes.Find(m.placement.node);
    node->doubt_at = node->lease.due() + times.doubt_after;
    state_->timers.Set(Alarm::kDoubt, node->number, node->doubt_at);
  }
}

void LostNodes::LookAtSilence(Turn& turn, Node* node) {
  const FenceTimes times(state_->options.lease);
  const bool stood_still = turn.mono() >= node->doubt_at + kStandstill;
  MonoTime next = node->lease.due() + times.doubt_after;
  if (stood_still) {
    next = turn.mono() + kStandstill;  // what it said meanwhile is still unread
  } else if (turn.mono() >= next) {
    Doubt(turn, node);
    next = turn.mono() + times.promise / 3;
  }
  const std::vector<Run*> runs = RunsOn(state_, *node);
  const bool watched =
      std::any_of(runs.begin(), runs.end(), [](const Run* run) { return run->attempt->witnessed; });
  if (!watched) return state_->timers.Stop(Alarm::kDoubt, node->number);
  node->doubt_at = next;
  state_->timers.Set(Alarm::kDoubt, node->number, next);
}

void LostNodes::Doubt(Turn& turn, Node* node) {
  const absl::Duration span = FenceTimes(state_->options.lease).promise;
  for (Run* run : RunsOn(state_, *node)) {
    Attempt& attempt = *run->attempt;
    if (!attempt.witnessed) continue;
    for (const Member& m : attempt.members) {
      const Node* other = state_->nodes.Find(m.placement.node);
      if (other == node || !other->connected()) continue;
      if (m.placement.returned && !EndedWell(attempt, m)) continue;
      turn.Tell(other->name(), protocol::Doubt{attempt.ref(), span, turn.mono()});
    }
  }
}

void LostNodes::Doubted(Turn& turn, Run* run, Member* member, MonoTime asked) {
  const absl::Duration span = FenceTimes(state_->options.lease).promise;
  TakePromise(turn.mono(), std::min(asked, turn.mono()) + span, member);
  Arm(run);
}

void LostNodes::ForgetPromises(const Node& node) {
  for (Run* run : RunsOn(state_, node)) {
    Member* member = run->attempt->FindMember(node.name());
    member->silent_since = MonoTime::Infinite();
    member->silent_until = {};
    Arm(run);
  }
}

}  // namespace hpc::coordinator
