// The nodes as the placement policy sees them.
#ifndef HPC_COORDINATOR_CORE_ACTS_CLUSTER_VIEW_H_
#define HPC_COORDINATOR_CORE_ACTS_CLUSTER_VIEW_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/clock.h"
#include "coordinator/core/policy/placement.h"
#include "coordinator/core/state/state.h"

namespace hpc::coordinator {

struct ClusterView {
  PlacementInput input;
  std::vector<Node*> nodes;  // index as in the input

  // The index of a node; nullopt: it is unknown or shut out.
  std::optional<size_t> Find(absl::string_view name) const;
};

ClusterView ViewOf(State& state, Now now);

// The view once `asleep`, which was told to sleep, is off, and what is being stopped for that is
// over.
ClusterView ViewOnceAsleep(State& state, Now now, const Node& asleep);

// The view once all that is being stopped has ended. What is kept for such a run is not free.
ClusterView ViewOnceStopped(State& state, Now now);

// What a queued run prefers and avoids.
NodeWishes WishesOf(const Run& run);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_ACTS_CLUSTER_VIEW_H_
