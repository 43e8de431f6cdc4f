#include "coordinator/core/acts/owners.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "protocol/limits.h"
#include "protocol/worker_message.h"

namespace hpc::coordinator {
namespace {

constexpr absl::Duration kGrace = absl::Seconds(10);
constexpr char kOwnerThere[] = "its owner, on the PC itself";

std::string ReclaimWords(const ReclaimRequest& request) {
  std::string words = DoneBy("reclaimed", request.who.empty() ? "its owner" : request.who);
  if (!request.reason.empty()) absl::StrAppend(&words, ": ", request.reason);
  if (request.duration.has_value()) {
    absl::StrAppend(&words, ", for ", HumanDuration(*request.duration));
  } else {
    absl::StrAppend(&words, ", until lent");
  }
  return words;
}

}  // namespace

void Owners::Reclaim(Turn& turn, Node* node, const ReclaimRequest& request,
                     const std::optional<MadeThere>& by_node) {
  NodeRecord& record = node->record;
  const bool again = record.reclaimed;
  record.reclaimed = true;
  record.reclaim_reason = request.reason;
  record.reclaimed_until =
      request.duration.has_value() ? turn.wall() + *request.duration : absl::InfiniteFuture();
  const std::string words = ReclaimWords(request);
  turn.Save(record);
  ArmLend(turn, node);
  if (!again || request.grace) {
    const MonoTime due = turn.mono() + request.grace.value_or(kGrace);
    node->reclaim_due = again ? std::min(node->reclaim_due, due) : due;
  }
  if (!by_node) TellNode(turn, *node);
  if (again) {
    if (request.grace) gangs_->HastenAllOn(turn, *node, *request.grace);
    return;
  }
  node->WentAway(turn.mono());
  node->returning = true;
  node->reclaim_asked = turn.mono();
  state_->capacity_changed = true;
  std::string text = words;
  if (!node->holdings.empty()) {
    absl::StrAppend(&text, "; stops ", Count(static_cast<int64_t>(node->holdings.size()), "run"),
                    " there");
  }
  turn.Event(event::kNodeReclaimed, About(node->name()), text);
  power_->Reclaimed(turn, node);
  const std::string why = absl::StrCat(node->name(), " was ", words);
  Cause cause = OrderedCause(AttemptOutcome::kReclaimed, turn.mono(), why);
  if (by_node) {
    cause = ClusterCause(AttemptOutcome::kReclaimed, node->name(), by_node->when, why);
    cause.guessed = by_node->vague;
  }
  // A node that was away ends its ranks by itself, within the grace that its owner gave it there.
  const absl::Duration unsaid = by_node && by_node->vague ? protocol::kMaxSpan : kGrace;
  gangs_->StopAllOn(turn, *node, cause, request.grace.value_or(unsaid));
  DevicesReturned(turn, node);
}

void Owners::DevicesReturned(Turn& turn, Node* node) {
  if (!node->returning || !node->holdings.empty()) return;
  node->returning = false;
  const absl::Duration took = turn.mono() - node->reclaim_asked;
  turn.Event(event::kNodeReturned, About(node->name()),
             took == absl::ZeroDuration()
                 ? absl::StrCat(node->name(), " returned to its owner at once: nothing ran there")
                 : absl::StrCat(node->name(), " returned to its owner ", HumanDuration(took),
                                " after it was asked for"));
}

void Owners::Lend(Turn& turn, Node* node, const std::string& who, bool by_node) {
  NodeRecord& record = node->record;
  if (!record.reclaimed) return;
  record.reclaimed = false;
  record.reclaimed_until = absl::InfiniteFuture();
  record.reclaim_reason.clear();
  node->returning = false;
  node->CameBack(turn.mono());
  turn.Save(record);
  turn.Event(event::kNodeLent, About(node->name()), DoneBy("lent", who));
  state_->timers.Stop(Alarm::kLend, node->number);
  state_->capacity_changed = true;
  if (!by_node) TellNode(turn, *node);
  if (node->ReadyForWork()) starter_->NodeReady(turn, *node);
}

void Owners::Changed(Turn& turn, Node* node, const protocol::OwnerChanged& changed) {
  if (!changed.reclaimed) return Lend(turn, node, kOwnerThere, /*by_node=*/true);
  ReclaimRequest request{changed.duration, changed.reason, kOwnerThere};
  if (changed.grace > absl::ZeroDuration()) request.grace = changed.grace;
  Reclaim(turn, node, request, MadeThere{node->clock.Before({}, turn.mono())});
}

void Owners::Greet(Turn& turn, Node* node, const protocol::Hello& hello) {
  if (!hello.owner_changed) {
    if (hello.reclaimed != node->record.reclaimed || node->record.reclaimed) TellNode(turn, *node);
    return;
  }
  if (!hello.reclaimed) return Lend(turn, node, kOwnerThere, true);
  Reclaim(turn, node, {hello.reclaim_left, hello.reclaim_reason, kOwnerThere},
          MadeThere{{node->silence_before.earliest, turn.mono()}, /*vague=*/true});
}

void Owners::OnTimer(Turn& turn, Node* node) {
  Lend(turn, node, "the end of the time its owner asked for", false);
}

void Owners::Restore(Turn& turn, Node* node) {
  if (node->record.reclaimed) ArmLend(turn, node);
}

void Owners::TellNode(Turn& turn, const Node& node) {
  if (!node.connected()) return;  // it is told when it says hello
  const NodeRecord& record = node.record;
  protocol::SetOwner command;
  command.reclaimed = record.reclaimed;
  command.reason = record.reclaim_reason;
  // If the owner's time is over, the node was away until now. Ranks that it still has get as much
  // time as with a new wish.
  if (record.reclaimed) {
    const absl::Duration left = node.reclaim_due - turn.mono();
    command.grace = left > absl::ZeroDuration() ? left : kGrace;
  }
  if (record.reclaimed && record.reclaimed_until != absl::InfiniteFuture()) {
    command.left = std::max(record.reclaimed_until - turn.wall(), absl::ZeroDuration());
  }
  turn.Tell(node.name(), command);
}

void Owners::ArmLend(Turn& turn, Node* node) {
  const absl::Time until = node->record.reclaimed_until;
  const MonoTime at = until == absl::InfiniteFuture()
                          ? MonoTime::Infinite()
                          : turn.mono() + std::max(until - turn.wall(), absl::ZeroDuration());
  state_->timers.Set(Alarm::kLend, node->number, at);
}

}  // namespace hpc::coordinator
