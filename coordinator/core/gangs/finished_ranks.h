// Ranks that had exited 0 when another one failed. A rank that ends early takes its connections
// with it, and what fails is often a rank that still needs them.
#ifndef HPC_COORDINATOR_CORE_GANGS_FINISHED_RANKS_H_
#define HPC_COORDINATOR_CORE_GANGS_FINISHED_RANKS_H_

#include <string>

#include "coordinator/core/state/attempt.h"

namespace hpc::coordinator {

// Says in parentheses, for the end of the failure's text, which ranks had exited 0 of their own
// accord, and when. A rank's connections close a little before its end is seen, so an exit up to
// kWordOfPeer after the failure counts, too.
//
// Returns "" if there were none, or if the failure has nothing to do with them: only a complaint
// about a peer has, and an abort, which may be one on the way out.
std::string WhoHadFinished(const Attempt& attempt, const Cause& failure);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_GANGS_FINISHED_RANKS_H_
