// Whether a node whose worker has just gone can be done without.
#ifndef HPC_COORDINATOR_CORE_ACTS_SPARE_H_
#define HPC_COORDINATOR_CORE_ACTS_SPARE_H_

#include "common/clock.h"
#include "coordinator/core/state/state.h"

namespace hpc::coordinator {

// Something runs there, and all of it could go on at once, with as many nodes and ranks, without
// the node: others are free and awake, and what is left there can be recalled through another node
// of its gang.
bool SparesStandReady(State& state, Now now, const Node& node);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_ACTS_SPARE_H_
