// Translates what one core says into what the other hears. It does what the wire's conversions do
// (coordinator/rpc/convert/convert_worker, worker/link/convert), without the wire but with its
// resolution.
#ifndef HPC_TESTS_SIM_MACHINES_TRANSLATE_H_
#define HPC_TESTS_SIM_MACHINES_TRANSLATE_H_

#include <string>
#include <vector>

#include "coordinator/core/values/effects.h"
#include "coordinator/core/values/reports.h"
#include "protocol/coordinator_message.h"
#include "protocol/halt.h"
#include "protocol/hello.h"
#include "protocol/prepare.h"
#include "protocol/rank_exit.h"
#include "protocol/worker_message.h"

namespace hpc::sim {

protocol::CoordinatorMessage ToWorker(const coordinator::Welcome& welcome);
// Translates any command but a preparation, which comes with its run.
protocol::CoordinatorMessage ToWorker(const coordinator::NodeCommand& command);
protocol::CoordinatorMessage ToWorker(const coordinator::PrepareAttempt& prepare,
                                      const coordinator::RunRecord& run);

// `out` already holds the name of the node and what the PC has.
void ToCoordinator(const protocol::Hello& hello, coordinator::NodeHello* out);
coordinator::RankExit ToCoordinator(const protocol::RankExit& exit);
coordinator::Halt ToCoordinator(const protocol::Halt& halt);
coordinator::RankAges ToCoordinator(const protocol::RankAges& ages);
coordinator::PreparedReport ToCoordinator(const protocol::Prepared& prepared);
coordinator::ReclaimRequest ToCoordinator(const protocol::OwnerChanged& change);
std::vector<coordinator::StartedRank> ToCoordinator(const protocol::Started& started);

}  // namespace hpc::sim

#endif  // HPC_TESTS_SIM_MACHINES_TRANSLATE_H_
