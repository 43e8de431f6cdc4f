#include "coordinator/core/acts/cluster_view.h"

#include <algorithm>

namespace hpc::coordinator {
namespace {

// When a run's devices on a node are free again at the latest.
MonoTime FreeAgain(const State& state, AttemptRef ref, const std::string& node, Now now) {
  const Run* run = state.runs.Find(ref.run);
  if (run == nullptr || run->attempt == nullptr) return now.mono;
  const Attempt& attempt = *run->attempt;
  const Member* member = attempt.FindMember(node);
  if (attempt.stopping()) {
    if (member != nullptr && member->lost()) return std::max(member->fence, now.mono);
    return std::max(attempt.stopping_since + attempt.stop_grace, now.mono);
  }
  const RunRequest& request = run->request();
  const MonoTime since =
      attempt.record.state == AttemptState::kRunning ? attempt.running_since : now.mono;
  return std::max(since + (request.time_limit + request.stop_grace), now.mono);
}

// Devices that are kept for a run while its ranks end. Nobody else may have them.
void TakeKept(State& state, ClusterView* view) {
  auto& keeping = state.keeping;
  keeping.erase(std::remove_if(keeping.begin(), keeping.end(),
                               [&](RunId id) {
                                 const Run* run = state.runs.Find(id);
                                 return run == nullptr ||
                                        (run->kept.empty() && run->goes_on_with.empty());
                               }),
                keeping.end());
  for (RunId id : keeping) {
    const Run& run = *state.runs.Find(id);
    for (const auto* list : {&run.kept, &run.goes_on_with}) {
      for (const Run::Kept& kept : *list) {
        // What it still holds itself is taken already.
        const bool held = run.attempt != nullptr && list == &run.goes_on_with &&
                          !run.attempt->FindMember(kept.node)->placement.returned;
        const std::optional<size_t> node = view->Find(kept.node);
        if (!held && node) Take(&view->input.nodes[*node], kept.devices);
      }
    }
  }
}

// Whether this is held by an attempt that is being stopped and has a share on `node`.
bool EndsWith(const State& state, AttemptRef ref, const std::string& node) {
  const Run* run = state.runs.Find(ref.run);
  return run != nullptr && run->attempt != nullptr && run->attempt->ref() == ref &&
         run->attempt->stopping() && run->attempt->FindMember(node) != nullptr;
}

// `asleep` is as in ViewOnceAsleep; null: no node goes to sleep.
ClusterView View(State& state, Now now, const Node* asleep) {
  ClusterView view;
  view.input.now = now.mono;
  view.input.nodes.reserve(state.nodes.size());
  view.nodes.reserve(state.nodes.size());
  for (const auto& [name, node] : state.nodes.by_name()) {
    if (node->ShutOut()) continue;
    const size_t index = view.nodes.size();
    NodeSpace space = EmptySpace(name, node->record.inventory);
    space.awake = node->ReadyForWork();
    space.usable = (space.awake && node->orphans.empty()) || node->Wakeable();
    space.unable = space.awake && now.mono < node->unable_until;
    if (node == asleep) {
      space.awake = false;
      space.usable = node->CanWake();
    }
    for (const Holding& holding : node->holdings) {
      if (asleep != nullptr && EndsWith(state, holding.ref, asleep->name())) continue;
      Take(&space, holding.devices);
      view.input.taken.push_back(
          {index, holding.devices, FreeAgain(state, holding.ref, name, now)});
    }
    const absl::Time until = node->record.reclaimed_until;
    if (node->record.reclaimed && until != absl::InfiniteFuture() && node->connected()) {
      view.input.away.push_back(
          {index, now.mono + std::max(until - now.wall, absl::ZeroDuration())});
    }
    view.input.nodes.push_back(std::move(space));
    view.nodes.push_back(node);
  }
  TakeKept(state, &view);
  return view;
}

}  // namespace

std::optional<size_t> ClusterView::Find(absl::string_view name) const {
  const auto at = std::find_if(nodes.begin(), nodes.end(),
                               [&](const Node* node) { return node->name() == name; });
  if (at == nodes.end()) return std::nullopt;
  return static_cast<size_t>(at - nodes.begin());
}

ClusterView ViewOf(State& state, Now now) { return View(state, now, nullptr); }

ClusterView ViewOnceStopped(State& state, Now now) {
  ClusterView view = View(state, now, nullptr);
  for (size_t i = 0; i < view.nodes.size(); ++i) {
    for (const Holding& holding : view.nodes[i]->holdings) {
      const std::string& node = view.nodes[i]->name();
      if (!EndsWith(state, holding.ref, node)) continue;
      const std::vector<Run::Kept>& kept = state.runs.Find(holding.ref.run)->goes_on_with;
      const bool goes_on =
          std::any_of(kept.begin(), kept.end(), [&](const Run::Kept& k) { return k.node == node; });
      if (!goes_on) GiveBack(&view.input.nodes[i], holding.devices);
    }
  }
  return view;
}

ClusterView ViewOnceAsleep(State& state, Now now, const Node& asleep) {
  return View(state, now, &asleep);
}

NodeWishes WishesOf(const Run& run) {
  NodeWishes wishes;
  if (!run.last_nodes.empty()) wishes.last_nodes = &run.last_nodes;
  if (!run.record.leave_asleep.empty()) wishes.leave_asleep = &run.record.leave_asleep;
  return wishes;
}

}  // namespace hpc::coordinator
