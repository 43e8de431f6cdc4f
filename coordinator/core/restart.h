// Builds the state of a restarted coordinator from what was durable.
#ifndef HPC_COORDINATOR_CORE_RESTART_H_
#define HPC_COORDINATOR_CORE_RESTART_H_

#include "coordinator/core/gangs/gangs.h"
#include "coordinator/core/gangs/run_ledger.h"
#include "coordinator/core/state/state.h"
#include "coordinator/core/state/turn.h"
#include "coordinator/core/values/cluster_options.h"

namespace hpc::coordinator {

// Puts nodes, runs and live attempts back; decides nothing.
void Load(const Snapshot& snapshot, Now now, State* state);

// Continues from there. Attempts that were being started are stopped and queued again free of
// charge, since it is not known which nodes have heard of them. Running attempts run on. Queued
// runs take their places again.
void ResumeRuns(Turn& turn, State* state, Gangs* gangs, RunLedger* ledger);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_RESTART_H_
