// Why a run or a node is as it is, in a sentence that follows its name: "running on pc1: ...".
// Pure.
#ifndef HPC_COORDINATOR_RPC_WHY_H_
#define HPC_COORDINATOR_RPC_WHY_H_

#include <string>

#include "coordinator/core/cluster.h"
#include "coordinator/store/store.h"

namespace hpc::coordinator {

// `rendezvous`: which ranks have not arrived yet; "" when all have.
std::string ExplainRun(const RunRow& row, const RunWait& wait, const std::string& rendezvous);
std::string ExplainNode(const Cluster::NodeView& node);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_WHY_H_
