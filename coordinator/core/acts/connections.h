// Nodes that come, are heard, fall silent and go.
#ifndef HPC_COORDINATOR_CORE_ACTS_CONNECTIONS_H_
#define HPC_COORDINATOR_CORE_ACTS_CONNECTIONS_H_

#include <string>

#include "absl/status/statusor.h"
#include "coordinator/core/acts/owners.h"
#include "coordinator/core/acts/power.h"
#include "coordinator/core/gangs/gangs.h"
#include "coordinator/core/state/state.h"
#include "coordinator/core/state/turn.h"
#include "coordinator/core/values/reports.h"

namespace hpc::coordinator {

class Connections {
 public:
  Connections(State* state, Gangs* gangs, PowerControl* power, Owners* owners)
      : state_(state), gangs_(gangs), power_(power), owners_(owners) {}

  absl::StatusOr<Welcome> Hello(Turn& turn, const NodeHello& hello);
  // The node that says something over its open connection; its lease is renewed.
  // FailedPrecondition: the connected incarnation is another one, or none is.
  absl::StatusOr<Node*> Heard(Now now, const std::string& name, uint64_t incarnation);
  void Disconnected(Turn& turn, Node* node, bool reset);
  void Leaving(Turn& turn, Node* node, Leave leave, const std::string& reason);
  void InventoryChanged(Turn& turn, Node* node, const Inventory& inventory);

  // Makes durable when the connected nodes were heard last.
  void SaveSeen(Turn& turn);

  // Its lease may have run out.
  void OnTimer(Turn& turn, Node* node);
  // A restarted coordinator gives nodes time to come back before they count as lost.
  void Restore(Turn& turn, Node* node);

 private:
  absl::Status CheckFree(const Node& node, const NodeHello& hello, MonoTime now) const;
  void Greet(Turn& turn, Node* node, const NodeHello& hello, bool is_new, bool rebooted);
  // How long a worker that closed its connection may take to be back.
  absl::Duration ReconnectGrace(const Turn& turn, const Node& node);
  void Lost(Turn& turn, Node* node);
  std::string WhyLost(const Turn& turn, const Node& node) const;

  State* state_;
  Gangs* gangs_;
  PowerControl* power_;
  Owners* owners_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_ACTS_CONNECTIONS_H_
