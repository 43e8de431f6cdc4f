// The owner's wish: a reclaimed node is freed within a bounded time and gets no work until it is
// lent.
#ifndef HPC_COORDINATOR_CORE_ACTS_OWNERS_H_
#define HPC_COORDINATOR_CORE_ACTS_OWNERS_H_

#include <optional>
#include <string>

#include "coordinator/core/acts/power.h"
#include "coordinator/core/gangs/gang_starter.h"
#include "coordinator/core/gangs/gangs.h"
#include "coordinator/core/state/state.h"
#include "coordinator/core/state/turn.h"
#include "coordinator/core/values/reports.h"
#include "protocol/hello.h"
#include "protocol/worker_message.h"

namespace hpc::coordinator {

class Owners {
 public:
  Owners(State* state, Gangs* gangs, GangStarter* starter, PowerControl* power)
      : state_(state), gangs_(gangs), starter_(starter), power_(power) {}

  // Describes a wish that was made on the PC itself.
  struct MadeThere {
    Window when;
    bool vague = false;  // what the PC says about its ranks tells its time better
  };
  // `by_node`: set for a wish that was made on the PC, which then need not be told of it.
  void Reclaim(Turn& turn, Node* node, const ReclaimRequest& request,
               const std::optional<MadeThere>& by_node);
  void Lend(Turn& turn, Node* node, const std::string& who, bool by_node);
  // A wish that was made on the PC just now.
  void Changed(Turn& turn, Node* node, const protocol::OwnerChanged& changed);

  // Takes over a wish that was made on the PC while it was away. Otherwise tells the PC how things
  // stand.
  void Greet(Turn& turn, Node* node, const protocol::Hello& hello);
  // A wish that was made on the PC is durable now: tells the PC what holds.
  void Answer(Turn& turn, const Node& node) { TellNode(turn, node); }
  // The node has returned devices.
  void DevicesReturned(Turn& turn, Node* node);

  // The time that the owner asked for is over.
  void OnTimer(Turn& turn, Node* node);
  void Restore(Turn& turn, Node* node);

 private:
  void TellNode(Turn& turn, const Node& node);
  void ArmLend(Turn& turn, Node* node);

  State* state_;
  Gangs* gangs_;
  GangStarter* starter_;
  PowerControl* power_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_ACTS_OWNERS_H_
