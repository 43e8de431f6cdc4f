// Compares what a connecting worker still has with what is believed to be there, and acts on the
// differences.
#ifndef HPC_COORDINATOR_CORE_ACTS_RECONCILE_H_
#define HPC_COORDINATOR_CORE_ACTS_RECONCILE_H_

#include "coordinator/core/gangs/gang_starter.h"
#include "coordinator/core/gangs/gangs.h"
#include "coordinator/core/state/state.h"
#include "coordinator/core/state/turn.h"
#include "protocol/held_attempt.h"

namespace hpc::coordinator {

// - Attempts that are over or were replaced are stopped if anything of them runs, and forgotten.
//   Until they have ended, they are the node's orphans.
// - Of live attempts the starts, exits and returns are taken over, and an order to stop is
//   repeated.
// - Attempts that the node should have but does not hold ended there without a word. `rebooted`
//   says that the PC has restarted since it was last heard, which explains these.
void Reconcile(Turn& turn, State* state, Gangs* gangs, GangStarter* starter, Node* node,
               bool rebooted, const std::vector<protocol::HeldAttempt>& held);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_ACTS_RECONCILE_H_
