// Nodes connect, are heard, fall silent, count as lost after a while, and leave.
#ifndef HPC_COORDINATOR_CORE_ACTS_LIVENESS_H_
#define HPC_COORDINATOR_CORE_ACTS_LIVENESS_H_

#include <string>

#include "absl/status/statusor.h"
#include "coordinator/core/acts/owners.h"
#include "coordinator/core/acts/power.h"
#include "coordinator/core/gangs/gang_starter.h"
#include "coordinator/core/gangs/gangs.h"
#include "coordinator/core/state/state.h"
#include "coordinator/core/state/turn.h"
#include "coordinator/core/values/reports.h"
#include "protocol/hello.h"
#include "protocol/worker_message.h"

namespace hpc::coordinator {

class Liveness {
 public:
  Liveness(State* state, Gangs* gangs, GangStarter* starter, PowerControl* power, Owners* owners)
      : state_(state), gangs_(gangs), starter_(starter), power_(power), owners_(owners) {}

  absl::StatusOr<protocol::Welcome> Hello(Turn& turn, const protocol::Hello& hello);
  // Renews the lease of a node that says something over its open connection, and returns the node.
  // FailedPrecondition: another incarnation is connected, or none is.
  absl::StatusOr<Node*> Heard(Now now, const Session& session);
  void Disconnected(Turn& turn, Node* node, bool reset);
  void Leaving(Turn& turn, Node* node, const protocol::Leaving& leaving);
  void InventoryChanged(Turn& turn, Node* node, const protocol::Inventory& inventory);

  // Makes durable when the connected nodes were last heard.
  void SaveSeen(Turn& turn);

  // The node's lease may have run out.
  void OnTimer(Turn& turn, Node* node);
  // After a restart of the coordinator: gives the node time to come back before it counts as lost.
  void Restore(Turn& turn, Node* node);

 private:
  absl::Status CheckFree(const Node& node, const protocol::Hello& hello, MonoTime now) const;
  void Greet(Turn& turn, Node* node, const protocol::Hello& hello, bool is_new, bool rebooted);
  // How long a worker that closed its connection may take to come back.
  absl::Duration GraceOf(const Turn& turn, const Node& node);
  void Lost(Turn& turn, Node* node);
  std::string WhyLost(const Turn& turn, const Node& node) const;

  State* state_;
  Gangs* gangs_;
  GangStarter* starter_;
  PowerControl* power_;
  Owners* owners_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_ACTS_LIVENESS_H_
