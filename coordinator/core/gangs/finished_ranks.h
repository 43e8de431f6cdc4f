// Ranks that had exited 0 when another one failed. A rank that ends early takes its connections
// with it, and what fails is often a rank that still needs them.
#ifndef HPC_COORDINATOR_CORE_GANGS_FINISHED_RANKS_H_
#define HPC_COORDINATOR_CORE_GANGS_FINISHED_RANKS_H_

#include <string>
#include <vector>

#include "coordinator/core/state/attempt.h"
#include "coordinator/core/state/node_table.h"

namespace hpc::coordinator {

// Adds to `reason`, which says that the rank of `failure` failed, which ranks had exited 0 of their
// own accord: before a complaint about a peer, since they are why it complains, and behind an
// abort, which may be one on the way out. Any other failure has nothing to do with them.
//
// A rank's connections close a little before its end is seen. So an exit counts if it is at most
// kWordOfPeer later than the complaint.
std::string WithWhoHadFinished(const Attempt& attempt, const Cause& failure,
                               const std::string& reason);

// The end of a rank that exited 0 and catches SIGTERM.
struct PoliteEnd {
  std::string node;
  Window when;
};

// A PC that goes down may tell a rank so before anybody else, and the rank may exit 0. Others of
// its gang then fail for want of it, perhaps in words of their own. Returns the ends of which
// `failure` may be such a consequence. If their PCs went down within
// protocol::kSigtermSpread, they did so at those ends.
std::vector<PoliteEnd> PoliteEndsBefore(const Attempt& attempt, const Cause& failure, Now now);

// The node that may still say that its PC went down at such an end before the deciding failure; "":
// none.
std::string NodeThatMayGoDown(const NodeTable& nodes, const Attempt& attempt, Now now);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_GANGS_FINISHED_RANKS_H_
