// Compares what a connecting worker still has with what is believed to be there, and acts on the
// differences.
#ifndef HPC_COORDINATOR_CORE_ACTS_HELD_H_
#define HPC_COORDINATOR_CORE_ACTS_HELD_H_

#include "coordinator/core/gangs/gangs.h"
#include "coordinator/core/state/state.h"
#include "coordinator/core/state/turn.h"
#include "coordinator/core/values/reports.h"

namespace hpc::coordinator {

// - Attempts that are over or were replaced: stopped if anything runs, and forgotten.
// - Live ones: their starts, exits and return are taken over; a stop is said again.
// - Believed to be there, but not held: they ended there without a word.
// `rebooted`: the PC has started anew since it was last heard, which explains the last kind.
void Reconcile(Turn& turn, State* state, Gangs* gangs, const Node& node, bool rebooted,
               const std::vector<HeldAttempt>& held);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_ACTS_HELD_H_
