// Which ranks of an attempt have reached its rendezvous store, and whom those that have wait for.
//
// All of it is what the worker that serves the store has seen: which processes have connected, and
// the key that most of them wait for. Of ranks that talk to each other and not to the store only
// what their processes do is known.
#ifndef HPC_COORDINATOR_CORE_GANGS_RENDEZVOUS_H_
#define HPC_COORDINATOR_CORE_GANGS_RENDEZVOUS_H_

#include <string>
#include <vector>

#include "common/clock.h"
#include "coordinator/core/state/attempt.h"
#include "coordinator/core/state/state.h"
#include "coordinator/core/state/turn.h"
#include "coordinator/core/values/reports.h"

namespace hpc::coordinator {

// True for each rank that has arrived: its process has connected from its node's address. A PC may
// connect from another of its addresses, so a process number that only one rank has is enough.
std::vector<bool> ArrivedRanks(const Attempt& attempt, const RendezvousReport& report);

// Whom the ranks of a running attempt wait for: "rank 2 on pc3 has not reached the rendezvous for
// 12 s; ranks 0, 1 and 3 wait", or for which key if all have arrived. "" when nobody is known to
// wait, as when no rank at all has come: many programs need no rendezvous.
std::string WaitsForRanks(const Attempt& attempt, MonoTime now);

// The same, or else what is known of the meeting: that all have arrived, and what each does now, or
// that none has yet. "" for an attempt that is not running, has one rank only, or whose store is
// not ours.
std::string RendezvousWords(const Attempt& attempt, MonoTime now);

// Keeps the report; says once when every rank has arrived, and after 10 s, 1 min and 10 min, if it
// is still so then, whom ranks wait for.
void NoteRendezvous(Turn& turn, State* state, Run* run, const RendezvousReport& report);
// A running attempt may have been reported about before it counted as running.
void WatchRendezvous(Turn& turn, State* state, Run* run);
// The time to say whom ranks wait for may have come.
void RendezvousLate(Turn& turn, State* state, Run* run);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_GANGS_RENDEZVOUS_H_
