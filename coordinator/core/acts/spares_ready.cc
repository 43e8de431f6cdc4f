#include "coordinator/core/acts/spares_ready.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/core/acts/cluster_view.h"
#include "coordinator/core/policy/node_choice.h"
#include "coordinator/core/policy/retry.h"

namespace hpc::coordinator {
namespace {

int32_t RanksOf(const Fit& fit) {
  int32_t ranks = 0;
  for (const NodeShare& share : fit.shares) ranks += share.ranks;
  return ranks;
}

bool CanBeRecalled(const State& state, const Attempt& attempt, const Node& node) {
  const Member* member = attempt.FindMember(node.name());
  if (attempt.record.state != AttemptState::kRunning || member->recall.port == 0) return false;
  return std::any_of(attempt.members.begin(), attempt.members.end(), [&](const Member& other) {
    return &other != member && state.nodes.Find(other.placement.node)->connected();
  });
}

// Whether the run would start again at once after a loss. A second loss in a row has to wait. And
// the last retry must not be spent on a worker that is back in a moment.
bool StartsAgainAtOnce(const State& state, const Run& run, MonoTime now) {
  const bool first = run.record.losses == 0 || now - run.attempt->running_since >= kRowEndsAfter;
  return first && state.options.infrastructure_retries > 0;
}

// Finds room for the gang that the run would get if it were started again, and takes it.
bool TakeRoom(const Run& run, const Node& node, ClusterView* view) {
  const Attempt& attempt = *run.attempt;
  std::vector<NodeSpace>& spaces = view->input.nodes;
  for (size_t i = 0; i < spaces.size(); ++i) {
    const Member* member = attempt.FindMember(view->nodes[i]->name());
    if (member != nullptr) GiveBack(&spaces[i], member->placement.devices);
    if (view->nodes[i] == &node || !spaces[i].awake) spaces[i].usable = false;
  }
  const std::vector<std::string> members = attempt.NodeNames();
  NodeWishes wishes;
  wishes.last_nodes = &members;
  const std::optional<Fit> fit =
      Choose(run.request(), spaces, Eligible(run.request(), spaces), wishes);
  if (!fit.has_value() || fit->shares.size() < members.size() ||
      RanksOf(*fit) < attempt.record.world_size) {
    return false;
  }
  for (const NodeShare& share : fit->shares) Take(&spaces[share.node], share.devices);
  return true;
}

}  // namespace

bool SparesStandReady(State& state, Now now, const Node& node) {
  if (node.holdings.empty()) return false;
  ClusterView view = ViewOf(state, now);
  return std::all_of(node.holdings.begin(), node.holdings.end(), [&](const Holding& holding) {
    const Run* run = state.runs.Find(holding.ref.run);
    return run != nullptr && run->attempt != nullptr && run->attempt->ref() == holding.ref &&
           StartsAgainAtOnce(state, *run, now.mono) && CanBeRecalled(state, *run->attempt, node) &&
           TakeRoom(*run, node, &view);
  });
}

}  // namespace hpc::coordinator
