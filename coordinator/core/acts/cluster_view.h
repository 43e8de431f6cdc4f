// The nodes as the placement policy sees them.
#ifndef HPC_COORDINATOR_CORE_ACTS_CLUSTER_VIEW_H_
#define HPC_COORDINATOR_CORE_ACTS_CLUSTER_VIEW_H_

#include <vector>

#include "common/clock.h"
#include "coordinator/core/policy/placement.h"
#include "coordinator/core/state/state.h"

namespace hpc::coordinator {

struct ClusterView {
  PlacementInput input;
  std::vector<Node*> nodes;  // by the input's indices
};

ClusterView ViewOf(State& state, Now now);

// As it will be once `asleep`, which was told to sleep, is off, and what is stopped for that is
// over.
ClusterView ViewOnceAsleep(State& state, Now now, const Node& asleep);

// Preferences of a queued run.
FitWishes WishesOf(const Run& run);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_ACTS_CLUSTER_VIEW_H_
