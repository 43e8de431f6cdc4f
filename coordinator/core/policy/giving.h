// Decides which nodes elastic gangs give to a waiting run of higher priority. A pure function.
//
// A gang gives only what it has beyond its min_nodes, so it goes on with the others. It gives
// nothing unless the waiting run can start with that, and no more than it takes for that.
#ifndef HPC_COORDINATOR_CORE_POLICY_GIVING_H_
#define HPC_COORDINATOR_CORE_POLICY_GIVING_H_

#include <cstdint>
#include <vector>

#include "common/ids.h"
#include "coordinator/core/policy/node_choice.h"

namespace hpc::coordinator {

// A running gang that has more nodes than it must have.
struct ElasticGang {
  RunId run = 0;
  std::vector<NodeShare> shares;  // what it has, by node rank
  int32_t min_nodes = 1;
};

struct Gift {
  RunId run = 0;              // who gives
  std::vector<size_t> nodes;  // indices
};

// `nodes` are as they are now: what the gangs have is not free in them. The gangs are asked in
// their order, each for its last node first. Empty: not even all that they could give would let
// `waiting` start.
std::vector<Gift> NodesToGive(std::vector<NodeSpace> nodes, const RunRequest& waiting,
                              const NodeWishes& wishes, const std::vector<ElasticGang>& gangs);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_POLICY_GIVING_H_
