// The placement policy: which queued runs start now, on which devices, and why. A pure function.
// Which nodes a run gets is chosen in node_choice.h.
//
// Runs are served in the order of the queue. The first run that cannot start holds its place: runs
// behind it start only if that cannot delay it, which means
//   - on devices that it does not need at its estimated start, or
//   - if they end before that start by their time limit.
// The estimated start comes from the expected ends of the runs that run now. If it depends on a run
// without a time limit, it is unknown: then only devices that the first run could not use are given
// away. A run holds no place if it would not fit even if everything that runs ended (because nodes
// are lost, or are with their owners for an unknown time): it waits for nothing that starts now.
//
// A run that will be queued again (its attempt is being stopped, or its back-off lasts) keeps the
// devices that it could start with now. If it could not start, it holds its place in the same way.
//
// A run that may have more nodes than are free does not start at once. Its last call gives others
// time to come, and meanwhile nobody else gets the devices that it could start with.
#ifndef HPC_COORDINATOR_CORE_POLICY_PLACEMENT_H_
#define HPC_COORDINATOR_CORE_POLICY_PLACEMENT_H_

#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/ids.h"
#include "coordinator/core/policy/node_choice.h"
#include "coordinator/core/values/records.h"

namespace hpc::coordinator {

// Devices that are taken, and until when.
struct TakenShare {
  size_t node = 0;  // index
  std::vector<int32_t> devices;
  MonoTime until = MonoTime::Infinite();  // Infinite: not known
};

// A node that may not be used now, but may be from a known time on.
struct AwayNode {
  size_t node = 0;
  MonoTime until;
};

struct PlacementInput {
  MonoTime now;
  std::vector<NodeSpace> nodes;  // by name; devices that are taken are not free in them
  std::vector<TakenShare> taken;
  std::vector<AwayNode> away;
};

struct Candidate {
  RunId run = 0;
  const RunRequest* request = nullptr;
  NodeWishes wishes;
  absl::Duration last_call = absl::ZeroDuration();  // how long it may wait for more nodes
  bool later = false;                               // it does not start now, even if there is room
};

struct Placed {
  RunId run = 0;
  Fit fit;  // its reason also says which run was passed
};

struct PlacementResult {
  std::vector<Placed> placed;
  std::vector<RunId> gathering;  // they could start, and wait for more nodes
  std::vector<RunId> later;      // they start later, and devices are kept for them
  // The run that holds its place; 0: none does.
  RunId holder = 0;
  std::optional<MonoTime> holder_start;  // its estimated start
};

// `candidates` are in the order of the queue.
PlacementResult Place(PlacementInput input, const std::vector<Candidate>& candidates);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_POLICY_PLACEMENT_H_
