// A reservation for the run that holds its place: when it can start, and how much of each node must
// be left for it.
#ifndef HPC_COORDINATOR_CORE_POLICY_RESERVATION_H_
#define HPC_COORDINATOR_CORE_POLICY_RESERVATION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "common/clock.h"
#include "coordinator/core/policy/placement.h"

namespace hpc::coordinator {

struct Reservation {
  MonoTime start = MonoTime::Infinite();  // estimated; Infinite: unknown
  // How much of each node others may take beyond that time.
  struct Surplus {
    int32_t gpus = 0;
    int32_t slots = 0;
    int32_t seats = 0;
  };
  std::vector<Surplus> surplus;  // by node
};

// Nothing if the run would not fit even if everything that runs ended.
std::optional<Reservation> Reserve(const PlacementInput& input, const Candidate& candidate);

// The nodes as seen by a run that may still be running when the reservation starts.
std::vector<NodeSpace> Without(const std::vector<NodeSpace>& nodes, const Reservation& held);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_POLICY_RESERVATION_H_
