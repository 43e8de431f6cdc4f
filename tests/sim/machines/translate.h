// Translates what one core says into what the other hears. It does what the wire's conversions do
// (coordinator/rpc/convert/convert_worker, worker/link/convert), without the wire but with its
// resolution.
#ifndef HPC_TESTS_SIM_MACHINES_TRANSLATE_H_
#define HPC_TESTS_SIM_MACHINES_TRANSLATE_H_

#include <string>
#include <vector>

#include "coordinator/core/values/effects.h"
#include "coordinator/core/values/reports.h"
#include "worker/core/messages.h"

namespace hpc::sim {

worker::CoordinatorMessage ToWorker(const coordinator::Welcome& welcome);
// Translates any command but a preparation, which comes with its run.
worker::CoordinatorMessage ToWorker(const coordinator::NodeCommand& command);
worker::CoordinatorMessage ToWorker(const coordinator::PrepareAttempt& prepare,
                                    const coordinator::RunRecord& run);

// `out` already holds the name of the node and what the PC has.
void ToCoordinator(const worker::Hello& hello, coordinator::NodeHello* out);
coordinator::RankExit ToCoordinator(const worker::RankExit& exit);
coordinator::Halt ToCoordinator(const worker::Halt& halt);
coordinator::RankAges ToCoordinator(const worker::RankAges& ages);
coordinator::PreparedReport ToCoordinator(const worker::Prepared& prepared);
coordinator::ReclaimRequest ToCoordinator(const worker::OwnerChanged& change);
std::vector<coordinator::StartedRank> ToCoordinator(const worker::Started& started);

}  // namespace hpc::sim

#endif  // HPC_TESTS_SIM_MACHINES_TRANSLATE_H_
