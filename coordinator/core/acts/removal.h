// Nodes that no longer belong: shut out, and forgotten.
#ifndef HPC_COORDINATOR_CORE_ACTS_REMOVAL_H_
#define HPC_COORDINATOR_CORE_ACTS_REMOVAL_H_

#include <string>

#include "absl/status/status.h"
#include "coordinator/core/acts/power.h"
#include "coordinator/core/state/state.h"
#include "coordinator/core/state/turn.h"

namespace hpc::coordinator {

class Removal {
 public:
  Removal(State* state, PowerControl* power) : state_(state), power_(power) {}

  // The node's certificates are void. What runs there ends as on any node that is not heard any
  // more.
  void ShutOut(Turn& turn, Node* node, const std::string& why);
  // If this returns OK, `node` is gone. FailedPrecondition: it is connected, or an attempt that is
  // not over has a share there.
  absl::Status Forget(Turn& turn, Node* node, const std::string& who);

 private:
  absl::Status CheckUnused(const Node& node) const;

  State* state_;
  PowerControl* power_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_ACTS_REMOVAL_H_
