// How a new worker process takes over the folders that it finds, as worker/attempts/adoption does.
#ifndef HPC_TESTS_SIM_MACHINES_ADOPTED_H_
#define HPC_TESTS_SIM_MACHINES_ADOPTED_H_

#include <vector>

#include "tests/sim/machines/pc.h"
#include "worker/core/attempt.h"

namespace hpc::sim {

std::vector<worker::AdoptedAttempt> AdoptedFrom(Context* context, const Pc& pc);

}  // namespace hpc::sim

#endif  // HPC_TESTS_SIM_MACHINES_ADOPTED_H_
