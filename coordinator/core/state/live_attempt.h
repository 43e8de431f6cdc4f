// Finds the attempt that a report is about, and refuses reports of attempts that are over or were
// replaced.
#ifndef HPC_COORDINATOR_CORE_STATE_LIVE_ATTEMPT_H_
#define HPC_COORDINATOR_CORE_STATE_LIVE_ATTEMPT_H_

#include "absl/status/statusor.h"
#include "coordinator/core/state/state.h"
#include "coordinator/core/state/turn.h"

namespace hpc::coordinator {

struct LiveAttempt {
  Run* run;
  Member* member;
};

// FailedPrecondition: `ref` is not the live attempt of its run, or that has no part on the node.
// The error says which of the two it is.
absl::StatusOr<LiveAttempt> FindLive(State* state, const Node& node, AttemptRef ref);

// Counts a refused report. The first one of each attempt on a node becomes an event.
void CountStale(Turn& turn, State* state, Node* node, AttemptRef ref, const absl::Status& why);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_STATE_LIVE_ATTEMPT_H_
