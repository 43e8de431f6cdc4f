// Whether a node whose worker has just gone is needed.
#ifndef HPC_COORDINATOR_CORE_ACTS_SPARES_READY_H_
#define HPC_COORDINATOR_CORE_ACTS_SPARES_READY_H_

#include "common/clock.h"
#include "coordinator/core/state/state.h"

namespace hpc::coordinator {

// True if something runs on the node and all of it could go on at once without the node, with as
// many nodes and ranks. For that, other nodes must be free and awake, and it must be possible to
// recall what is left on the node through another node of its gang.
bool SparesStandReady(State& state, Now now, const Node& node);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_ACTS_SPARES_READY_H_
