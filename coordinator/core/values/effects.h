// What the core wants done, in this order: first make `changes` durable, then send `messages`. No
// client or node may learn anything of it before the changes are on disk.
#ifndef HPC_COORDINATOR_CORE_VALUES_EFFECTS_H_
#define HPC_COORDINATOR_CORE_VALUES_EFFECTS_H_

#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "coordinator/core/values/records.h"
#include "protocol/coordinator_message.h"

namespace hpc::coordinator {

// Whatever ran without the knowledge of the backup that was restored at that time has ended.
struct HoldOver {
  absl::Time restored_at;
};

// Each change is a whole record that is inserted or replaced, except that events are only inserted.
using Change = std::variant<RunRecord, AttemptRecord, PlacementRecord, RankRecord, NodeRecord,
                            EventRecord, HoldOver>;

// The program of a Prepare is left empty: the shell adds the run's RunProgram.
struct NodeMessage {
  std::string node;
  protocol::CoordinatorMessage command;
};

// Send Wake-on-LAN packets for this node (or run its wake hook), once; the core repeats as it sees
// fit.
struct WakeNode {
  std::string node;
  std::vector<protocol::NetworkInterface> interfaces;
  int32_t packet = 0;  // 0, 1, 2 ... of this wake-up
};

struct Effects {
  std::vector<Change> changes;
  std::vector<NodeMessage> messages;
  std::vector<WakeNode> wakes;

  bool empty() const { return changes.empty() && messages.empty() && wakes.empty(); }
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_VALUES_EFFECTS_H_
