// What runs on a node, and how its devices come back.
#ifndef HPC_COORDINATOR_CORE_STATE_HOLDINGS_H_
#define HPC_COORDINATOR_CORE_STATE_HOLDINGS_H_

#include <vector>

#include "coordinator/core/state/state.h"
#include "coordinator/core/state/turn.h"

namespace hpc::coordinator {

// The runs whose live attempts hold devices on the node.
std::vector<Run*> RunsOn(State* state, const Node& node);

// The member's node holds nothing of the attempt any more: its devices are free. Does nothing if
// they are already.
void GiveBack(Turn& turn, State* state, Run* run, Member* member);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_STATE_HOLDINGS_H_
