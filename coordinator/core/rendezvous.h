// Which ranks of an attempt have reached its rendezvous store.
#ifndef HPC_COORDINATOR_CORE_RENDEZVOUS_H_
#define HPC_COORDINATOR_CORE_RENDEZVOUS_H_

#include <string>
#include <vector>

#include "coordinator/core/attempt.h"
#include "coordinator/core/cluster.h"
#include "coordinator/core/turn.h"

namespace hpc::coordinator {

// True for each rank that has arrived: its process has connected from its node's address. A PC may
// connect from another of its addresses, so a process number that only one rank has is enough.
std::vector<bool> ArrivedRanks(const Attempt& attempt, const RendezvousReport& report);

// "rank 2 (pc3) has not reached the rendezvous; 3 of 4 have, and 3 connections wait for key /x".
// "" when all have.
std::string MissingRanks(const Attempt& attempt, const RendezvousReport& report);

// Keeps the report; says once when every rank has arrived.
void NoteRendezvous(Turn& turn, Attempt* attempt, const RendezvousReport& report);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_RENDEZVOUS_H_
