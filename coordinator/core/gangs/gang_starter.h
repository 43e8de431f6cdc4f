// The start of an attempt, from its placement until all ranks run: its nodes are woken, prepare it,
// and start it together. What goes wrong meanwhile stops the gang.
#ifndef HPC_COORDINATOR_CORE_GANGS_GANG_STARTER_H_
#define HPC_COORDINATOR_CORE_GANGS_GANG_STARTER_H_

#include <string>
#include <vector>

#include "coordinator/core/gangs/gangs.h"
#include "coordinator/core/state/state.h"
#include "coordinator/core/state/turn.h"
#include "protocol/held_attempt.h"
#include "protocol/prepare.h"

namespace hpc::coordinator {

// A node of the gang: its place in the table, and its share.
struct Seat {
  Node* node;
  std::vector<int32_t> devices;
  int32_t ranks;
};

class GangStarter {
 public:
  GangStarter(State* state, Gangs* gangs) : state_(state), gangs_(gangs) {}

  // Makes the run's next attempt. It is prepared at once if all of its nodes are on. Otherwise it
  // is prepared as soon as NodeReady has been called for those that were not.
  void Begin(Turn& turn, Run* run, const std::vector<Seat>& seats, const std::string& reason);
  void NodeReady(Turn& turn, const Node& node);
  void Prepared(Turn& turn, Run* run, Member* member, const protocol::Prepared& report);
  void Started(Turn& turn, Run* run, Member* member, const std::vector<protocol::HeldRank>& ranks);

 private:
  void SendPrepare(Turn& turn, Run* run);
  bool CanBeWitnessed(const Run& run) const;
  void SendStart(Turn& turn, Run* run);

  State* state_;
  Gangs* gangs_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_GANGS_GANG_STARTER_H_
