// The place that a run holds in front of those behind it: when it can start, and what of the nodes
// must be left for it.
#ifndef HPC_COORDINATOR_CORE_POLICY_RESERVATION_H_
#define HPC_COORDINATOR_CORE_POLICY_RESERVATION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "common/clock.h"
#include "coordinator/core/policy/placement.h"

namespace hpc::coordinator {

struct Reservation {
  MonoTime start = MonoTime::Infinite();  // estimated; Infinite: not known
  // What others may take of each node for longer than that.
  struct Surplus {
    int32_t gpus = 0;
    int32_t slots = 0;
    int32_t seats = 0;
  };
  std::vector<Surplus> surplus;  // by node
};

// None if the run would not fit even if everything that runs ended.
std::optional<Reservation> Reserve(const PlacementInput& input, const Candidate& candidate);

// The nodes as a run sees them that may still run when the reservation's start comes.
std::vector<NodeSpace> Without(const std::vector<NodeSpace>& nodes, const Reservation& held);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_POLICY_RESERVATION_H_
