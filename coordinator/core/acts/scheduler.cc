#include "coordinator/core/acts/scheduler.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "coordinator/core/acts/cluster_view.h"
#include "coordinator/core/acts/waiting_words.h"
#include "coordinator/core/gangs/requeued.h"
#include "coordinator/core/policy/node_choice.h"
#include "coordinator/core/state/lease.h"

namespace hpc::coordinator {
std::vector<Run*> Scheduler::ToLookAt(MonoTime now) {
  std::vector<Run*> fresh;
  for (RunId id : state_->newly_queued) {
    Run* run = state_->runs.Find(id);
    if (run != nullptr && state_->queue.Contains(*run)) fresh.push_back(run);
  }
  std::sort(fresh.begin(), fresh.end(),
            [](const Run* a, const Run* b) { return RunQueue::Before(*a, *b); });
  fresh.erase(std::unique(fresh.begin(), fresh.end()), fresh.end());
  Run* holder = state_->runs.Find(holder_);
  const bool overtakes =
      holder != nullptr && !fresh.empty() && RunQueue::Before(*fresh.front(), *holder);
  // Devices of runs in their last call, and of runs that start later, are not free.
  const bool beside = !fresh.empty() && !(gathering_.empty() && later_.empty());
  if (state_->capacity_changed || overtakes || beside) {
    std::vector<Run*> queued =
        state_->queue.First(static_cast<size_t>(state_->options.backfill_depth) + 1);
    const std::vector<Run*> requeued = RequeuedRuns(state_, now);
    std::vector<Run*> runs;
    std::merge(queued.begin(), queued.end(), requeued.begin(), requeued.end(),
               std::back_inserter(runs),
               [](const Run* a, const Run* b) { return RunQueue::Before(*a, *b); });
    return runs;
  }
  if (holder != nullptr && !fresh.empty() && fresh.front() != holder) {
    fresh.insert(fresh.begin(), holder);
  }
  return fresh;
}

// A first attempt may wait for more nodes. A later attempt goes on with what is left, and grows
// when it can. The exception is that the coordinator itself has just started: then the nodes come
// back one by one.
absl::Duration Scheduler::LastCall(const Run& run, MonoTime now) const {
  if (run.request().max_nodes == run.request().min_nodes) return absl::ZeroDuration();
  const absl::Duration whole = state_->options.last_call;
  if (run.record.attempts > 0) {
    const absl::Duration longest = std::max(whole, kReconnectAllowance);
    return state_->since + (IsExpected(run.request()) ? longest : whole) - now;
  }
  return run.last_call.has_value() ? *run.last_call - now : whole;
}

bool Scheduler::IsExpected(const RunRequest& request) const {
  const auto& nodes = state_->nodes.by_name();
  return std::any_of(nodes.begin(), nodes.end(), [&](const auto& entry) {
    const auto& [name, node] = entry;
    return node->Expected() && CouldHold(request, EmptySpace(name, node->record.inventory));
  });
}

void Scheduler::Gather(Run* run, MonoTime now) {
  run->last_call = now + LastCall(*run, now);
  state_->timers.Set(Alarm::kLastCall, run->id(), *run->last_call);
}

std::vector<Candidate> Scheduler::Candidates(const std::vector<Run*>& runs, MonoTime now) const {
  std::vector<Candidate> candidates;
  candidates.reserve(runs.size());
  for (const Run* run : runs) {
    if (state_->Held(*run, now)) continue;
    candidates.push_back({run->id(), &run->request(), WishesOf(*run), LastCall(*run, now),
                          !state_->queue.Contains(*run)});
  }
  return candidates;
}

RunId Scheduler::WillWake(const Node& node, Now now) const {
  std::vector<Run*> runs = state_->queue.First(static_cast<size_t>(state_->options.backfill_depth));
  for (const Holding& holding : node.holdings) {  // the runs on it will be queued again
    Run* run = state_->runs.Find(holding.ref.run);
    if (run != nullptr && !run->record.cancel_requested) runs.push_back(run);
  }
  std::sort(runs.begin(), runs.end(),
            [](const Run* a, const Run* b) { return RunQueue::Before(*a, *b); });
  ClusterView view = ViewOnceAsleep(*state_, now, node);
  std::vector<Candidate> candidates = Candidates(runs, now.mono);
  // A run in its back-off counts as ready: its back-off ends before the node can be asleep and
  // awake again.
  for (Candidate& candidate : candidates) candidate.later = false;
  for (const Placed& placed : Place(std::move(view.input), candidates).placed) {
    for (const NodeShare& share : placed.fit.shares) {
      if (view.nodes[share.node] == &node) return placed.run;
    }
  }
  return 0;
}

void Scheduler::Schedule(Turn& turn, Now now) {
  if (!state_->capacity_changed && state_->newly_queued.empty()) return;
  StartOnKept(turn, now);
  const std::vector<Run*> runs = ToLookAt(now.mono);
  if (state_->capacity_changed) {
    holder_ = 0;
    gathering_.clear();
    later_.clear();
  }
  state_->capacity_changed = false;
  const std::vector<RunId> fresh = std::exchange(state_->newly_queued, {});
  if (!runs.empty()) {
    ClusterView view = ViewOf(*state_, now);
    const PlacementResult result = Place(std::move(view.input), Candidates(runs, now.mono));
    holder_ = result.holder;
    gathering_ = result.gathering;
    later_ = result.later;
    for (RunId id : gathering_) Gather(state_->runs.Find(id), now.mono);
    for (const Placed& placed : result.placed) {
      Start(turn, state_->runs.Find(placed.run), placed, view.nodes);
    }
  }
  CallLost(turn);
  for (RunId id : fresh) {
    const Run* run = state_->runs.Find(id);
    if (run == nullptr || !state_->queue.Contains(*run)) continue;
    turn.Event(event::kRunWaiting, About(id), WaitOf(*state_, now, *run, holder_).text);
  }
}

void Scheduler::StartOnKept(Turn& turn, Now now) {
  for (RunId id : state_->newly_queued) {
    Run* const run = state_->runs.Find(id);
    if (run == nullptr || run->goes_on_with.empty()) continue;
    const std::vector<Run::Kept> kept = std::exchange(run->goes_on_with, {});
    const ClusterView view = ViewOf(*state_, now);
    Placed placed{id, {{}, "goes on with the nodes that it has kept"}};
    for (const Run::Kept& share : kept) {
      const std::optional<size_t> node = view.Find(share.node);
      if (!node || !IsFree(view.input.nodes[*node], share.devices)) break;
      placed.fit.shares.push_back({*node, share.devices, share.ranks});
    }
    // If one of them was lost meanwhile, it is placed like any other run.
    if (placed.fit.shares.size() == kept.size()) Start(turn, run, placed, view.nodes);
  }
}

void Scheduler::CallLost(Turn& turn) const {
  const std::vector<Run*> first = state_->queue.First(1);
  if (first.empty()) return;
  const Run* const run = first.front();
  const NodeWishes wishes = WishesOf(*run);
  for (const auto& [name, node] : state_->nodes.by_name()) {
    NodeSpace space = EmptySpace(name, node->record.inventory);
    space.awake = false;
    if (!CouldHold(run->request(), space) || IsKeptFrom(run->request(), space)) continue;
    if (!MustLeaveAsleep(wishes, space)) power_->CallLost(turn, node, run->id());
  }
}

void Scheduler::Start(Turn& turn, Run* run, const Placed& placed, const std::vector<Node*>& nodes) {
  state_->queue.Erase(run);
  std::vector<Seat> seats;
  for (const NodeShare& share : placed.fit.shares) {
    seats.push_back({nodes[share.node], share.devices, share.ranks});
  }
  starter_->Begin(turn, run, seats, placed.fit.reason);
  for (const Seat& seat : seats) power_->WakeFor(turn, seat.node, run->id());
}

}  // namespace hpc::coordinator
