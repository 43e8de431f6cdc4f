#include "coordinator/core/state/holdings.h"

#include <algorithm>

namespace hpc::coordinator {

std::vector<Run*> RunsOn(State* state, const Node& node) {
  std::vector<Run*> runs;
  for (const Holding& holding : node.holdings) {
    Run* run = state->runs.Find(holding.ref.run);
    if (run != nullptr && run->attempt != nullptr && run->attempt->ref() == holding.ref) {
      runs.push_back(run);
    }
  }
  return runs;
}

void GiveBack(Turn& turn, State* state, Run* run, Member* member) {
  if (member->placement.returned) return;
  member->placement.returned = true;
  turn.Save(member->placement);
  Node* node = state->nodes.Find(member->placement.node);
  const AttemptRef ref = run->attempt->ref();
  auto& holdings = node->holdings;
  holdings.erase(std::remove_if(holdings.begin(), holdings.end(),
                                [&](const Holding& h) { return h.ref == ref; }),
                 holdings.end());
  node->free_since = turn.mono();
  state->devices_returned.push_back(node);
  state->capacity_changed = true;
}

}  // namespace hpc::coordinator
