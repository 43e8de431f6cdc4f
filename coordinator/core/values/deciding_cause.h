// Which of the causes of an attempt's end decides.
#ifndef HPC_COORDINATOR_CORE_VALUES_DECIDING_CAUSE_H_
#define HPC_COORDINATOR_CORE_VALUES_DECIDING_CAUSE_H_

#include <vector>

#include "coordinator/core/values/cause.h"

namespace hpc::coordinator {

// Returns the cause that decides how the attempt ends. `causes` must not be empty.
//
// 1. Among failures of ranks the earliest counts. If two cannot be put in order, a failure that
//    asks for a restart comes before others, then come those with words of their own, crashes and
//    signals, then those without words, and complaints about a peer come last. Since a rank
//    may close its connections before it ends, a complaint about a peer gives way to any other
//    failure up to kWordOfPeer later. A failure without words that is no crash gives way in this
//    way to one that asks for a restart. It also gives way to one on another node that SIGTERM
//    ended, if that may have come first.
// 2. A failure decides only if it surely came before every other cause. A rank whose peers are
//    taken away may fail in any way that its program likes: with a complaint about a peer, with an
//    error of its own, or by a signal. Exceptions:
//    - SIGKILL is never a consequence. Such a failure decides if the latest time at which it may
//      have happened is before that of the other cause.
//    - A PC that goes down sends SIGTERM to all of its processes, and perhaps to a rank first. So a
//      failure that may answer it gives way to what its own node reports for up to kWordOfPeer
//      after it.
//    - What only explains complaints (`of_complaints`) excuses a failure on another node only if
//      that failure is a complaint about a peer.
//    - If the coordinator gave an order after it had heard of the failure, the failure came first.
// 3. Otherwise the earliest of the other causes decides. Those that came after the failure do not
//    count, since they cannot explain it.
const Cause& Deciding(const std::vector<Cause>& causes);

// Whether the failures so far may all be consequences of something that is still to be heard. That
// is so if all of them complain about a peer or were ended by SIGTERM. Where ranks `may_ask` for a
// restart (--retry-exit), failures without words count as possible consequences, too.
bool MayBeConsequences(const std::vector<Cause>& causes, bool may_ask);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_VALUES_DECIDING_CAUSE_H_
