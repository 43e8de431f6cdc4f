// The placement policy: which queued runs start now, on which devices, and why. A pure function.
//
// Runs are served in the order of the queue. The first that cannot start holds its place: runs
// behind it start only where that cannot delay it, which is
//   - on devices that it does not need at its estimated start, or
//   - if they end before that by their time limit.
// The estimated start comes from the expected ends of what runs now. Where that depends on a run
// without a time limit it is unknown: then only devices that it could not use are given away. A run
// that would not fit even if everything running ended (its nodes are lost, or with their owners for
// an unknown time) holds no place, since nothing that starts now is what it waits for.
//
// A run that is not queued yet and will be (its attempt is being stopped, its back-off lasts) keeps
// what it could start with now, or else holds its place in the same way.
//
// A run that may have more nodes than are free does not start at once: for the time of its last
// call others may come, and nobody else gets what it could start with.
#ifndef HPC_COORDINATOR_CORE_POLICY_PLACEMENT_H_
#define HPC_COORDINATOR_CORE_POLICY_PLACEMENT_H_

#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/ids.h"
#include "coordinator/core/policy/fit.h"
#include "coordinator/core/values/model.h"

namespace hpc::coordinator {

// Devices that are taken, until when.
struct TakenShare {
  size_t node = 0;  // index
  std::vector<int32_t> devices;
  MonoTime until = MonoTime::Infinite();  // Infinite: not known
};

// A node that may not be used now but will be, at a known time.
struct AwayNode {
  size_t node = 0;
  MonoTime until;
};

struct PlacementInput {
  MonoTime now;
  std::vector<NodeSpace> nodes;  // by name; what is taken is not free in them
  std::vector<TakenShare> taken;
  std::vector<AwayNode> away;
};

struct Candidate {
  RunId run = 0;
  const RunRequest* request = nullptr;
  FitWishes wishes;
  absl::Duration last_call = absl::ZeroDuration();  // how long it may wait for more nodes
  bool later = false;                               // does not start now even where there is room
};

struct Placed {
  RunId run = 0;
  Fit fit;  // its reason complete, with whom the run passes
};

struct PlacementResult {
  std::vector<Placed> placed;
  std::vector<RunId> gathering;  // could start, and wait for more nodes
  std::vector<RunId> later;      // something is kept for them
  // The run that holds its place, if one does.
  RunId holder = 0;
  std::optional<MonoTime> holder_start;  // estimated
};

// `candidates` are in the order of the queue.
PlacementResult Place(PlacementInput input, const std::vector<Candidate>& candidates);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_POLICY_PLACEMENT_H_
