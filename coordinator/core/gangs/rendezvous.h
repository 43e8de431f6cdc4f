// Which ranks of an attempt have reached its rendezvous store, and for whom those wait.
//
// Everything known comes from the worker that serves the store: which processes have connected, and
// the key that most of them wait for. When ranks talk to each other and not to the store, only what
// their processes do is known.
#ifndef HPC_COORDINATOR_CORE_GANGS_RENDEZVOUS_H_
#define HPC_COORDINATOR_CORE_GANGS_RENDEZVOUS_H_

#include <string>
#include <vector>

#include "common/clock.h"
#include "coordinator/core/state/attempt.h"
#include "coordinator/core/state/state.h"
#include "coordinator/core/state/turn.h"
#include "protocol/worker_message.h"

namespace hpc::coordinator {

// True for each rank that has arrived, which means that its process has connected from its node's
// address. A PC may connect from another of its addresses, so a process number is enough if only
// one rank has it.
std::vector<bool> ArrivedRanks(const Attempt& attempt, const protocol::RendezvousReport& report);

// Whether the ranks could meet in the worker's store, and no process has come to it.
bool NobodyCame(const Attempt& attempt);

// Whom the ranks of a running attempt wait for: "rank 2 on pc3 has not reached the rendezvous for
// 12 s; ranks 0, 1 and 3 wait". If all have arrived, the key that they wait for. "" if no rank is
// known to wait. That includes the case that no rank has come at all: many programs need no
// rendezvous.
std::string WaitsForRanks(const Attempt& attempt, MonoTime now);

// The same, and if nobody waits, what is known of the rendezvous: that all ranks have arrived and
// what each does now, or that none has arrived yet. Of an attempt with one rank, or whose store is
// not ours, only what each rank does. "" for an attempt that is not running.
std::string RendezvousWords(const Attempt& attempt, MonoTime now);

// Keeps the report, and says once that every rank has arrived. While ranks wait for others, it says
// for whom after 10 s, 1 min and 10 min.
void NoteRendezvous(Turn& turn, State* state, Run* run, const protocol::RendezvousReport& report);
// An attempt counts as running now: acts on a report that may have come before that.
void WatchRendezvous(Turn& turn, State* state, Run* run);
// The time may have come to say whom ranks wait for.
void RendezvousLate(Turn& turn, State* state, Run* run);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_GANGS_RENDEZVOUS_H_
