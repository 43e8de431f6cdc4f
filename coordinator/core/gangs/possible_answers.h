// A PC that goes down may tell a rank so before anybody else. The rank ends, and others of its gang
// fail for want of it, without a word or in words of their own. So the rank's end dates the going
// down, if the PC says within protocol::kSigtermSpread that it goes.
#ifndef HPC_COORDINATOR_CORE_GANGS_POSSIBLE_ANSWERS_H_
#define HPC_COORDINATOR_CORE_GANGS_POSSIBLE_ANSWERS_H_

#include <string>
#include <vector>

#include "coordinator/core/state/attempt.h"
#include "coordinator/core/state/node_table.h"

namespace hpc::coordinator {

// The end of a rank that may have been its answer to a SIGTERM of its PC.
struct PossibleAnswer {
  std::string node;
  Window when;
};

// The ends, of other ranks, of which `failure` may be a consequence.
std::vector<PossibleAnswer> PossibleAnswersBefore(const Attempt& attempt, const Cause& failure,
                                                  Now now);

// The node that may still say that its PC went down at such an end before the deciding failure; "":
// none.
std::string NodeThatMayGoDown(const NodeTable& nodes, const Attempt& attempt, Now now);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_GANGS_POSSIBLE_ANSWERS_H_
