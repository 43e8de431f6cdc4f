// Why a run is not running yet (or any more), in words that are true now.
#ifndef HPC_COORDINATOR_CORE_ACTS_WAITING_WORDS_H_
#define HPC_COORDINATOR_CORE_ACTS_WAITING_WORDS_H_

#include "common/clock.h"
#include "coordinator/core/state/run_table.h"
#include "coordinator/core/state/state.h"
#include "coordinator/core/values/reports.h"

namespace hpc::coordinator {

// `holder`: the run that holds its place in the queue; 0: none.
RunWait WaitOf(State& state, Now now, const Run& run, RunId holder);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_ACTS_WAITING_WORDS_H_
