// The owner's wish: a reclaimed node is freed within a bounded time and gets nothing until lent.
#ifndef HPC_COORDINATOR_CORE_ACTS_OWNERS_H_
#define HPC_COORDINATOR_CORE_ACTS_OWNERS_H_

#include <optional>
#include <string>

#include "coordinator/core/acts/power.h"
#include "coordinator/core/gangs/gangs.h"
#include "coordinator/core/state/state.h"
#include "coordinator/core/state/turn.h"
#include "coordinator/core/values/reports.h"

namespace hpc::coordinator {

class Owners {
 public:
  Owners(State* state, Gangs* gangs, PowerControl* power)
      : state_(state), gangs_(gangs), power_(power) {}

  // A wish that was made on the PC itself.
  struct MadeThere {
    Window when;
    bool vague = false;  // what the PC says of its ranks tells better when it was
  };
  // `by_node`: set for such a wish, which the PC is not told to follow.
  void Reclaim(Turn& turn, Node* node, const ReclaimRequest& request,
               const std::optional<MadeThere>& by_node);
  void Lend(Turn& turn, Node* node, const std::string& who, bool by_node);

  // Takes over what changed on the PC while it was away; else tells it how things stand.
  void Greet(Turn& turn, Node* node, const NodeHello& hello);
  // The wish of the PC itself is durable now: it is told what holds.
  void Answer(Turn& turn, const Node& node) { TellNode(turn, node); }
  // It has returned devices.
  void DevicesReturned(Turn& turn, Node* node);

  // The owner's time is over.
  void OnTimer(Turn& turn, Node* node);
  void Restore(Turn& turn, Node* node);

 private:
  void TellNode(Turn& turn, const Node& node);
  void ArmLend(Turn& turn, Node* node);

  State* state_;
  Gangs* gangs_;
  PowerControl* power_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_ACTS_OWNERS_H_
