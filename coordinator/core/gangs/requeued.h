// Runs that will be queued again: their attempt is being stopped, or their back-off lasts.
// Meanwhile they keep their place in front of younger runs.
#ifndef HPC_COORDINATOR_CORE_GANGS_REQUEUED_H_
#define HPC_COORDINATOR_CORE_GANGS_REQUEUED_H_

#include <vector>

#include "coordinator/core/policy/retry.h"
#include "coordinator/core/state/state.h"

namespace hpc::coordinator {

// How the run's attempt, which is being stopped or over, would end as things stand. `ran_for` is
// how long its last rank has run. Its work may be done, whatever it is being stopped for.
Ending EndingOf(const Run& run, absl::Duration ran_for);

// Such runs, in the order of the queue.
std::vector<Run*> RequeuedRuns(State* state, MonoTime now);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_GANGS_REQUEUED_H_
