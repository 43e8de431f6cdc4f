// Ranks that had exited 0 when another one failed. A rank that ends early takes its connections
// with it, and what fails is often a rank that still needs them.
#ifndef HPC_COORDINATOR_CORE_GANGS_FINISHED_RANKS_H_
#define HPC_COORDINATOR_CORE_GANGS_FINISHED_RANKS_H_

#include <string>

#include "coordinator/core/state/attempt.h"

namespace hpc::coordinator {

// Adds to `reason`, which says that the rank of `failure` failed, which ranks had exited 0 of their
// own accord: before a complaint about a peer, since they are why it complains, and behind an
// abort, which may be one on the way out. Any other failure has nothing to do with them.
//
// A rank's connections close a little before its end is seen. So an exit counts if it is at most
// kWordOfPeer later than the complaint.
std::string WithWhoHadFinished(const Attempt& attempt, const Cause& failure,
                               const std::string& reason);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_GANGS_FINISHED_RANKS_H_
