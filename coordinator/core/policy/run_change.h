// What a change makes of a queued run's request. Pure functions.
#ifndef HPC_COORDINATOR_CORE_POLICY_RUN_CHANGE_H_
#define HPC_COORDINATOR_CORE_POLICY_RUN_CHANGE_H_

#include <string>

#include "coordinator/core/values/records.h"
#include "coordinator/core/values/reports.h"

namespace hpc::coordinator {

RunRequest Changed(RunRequest request, const RunChange& change);

// Whether other nodes, or another number of them, can be chosen than before.
bool ChangesNodes(const RunRequest& before, const RunRequest& after);

// What a run that `who` holds says of that: "held by anna"; "held" if nobody is known.
std::string HeldBy(const std::string& who);
bool IsHeldBy(const RunRecord& run, const std::string& who);

// In words, what is different: "--priority 0 -> 5, -N 2 -> 1:4". "": nothing is.
std::string ChangeWords(const RunRequest& before, const RunRequest& after);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_POLICY_RUN_CHANGE_H_
