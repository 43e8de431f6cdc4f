// What a connected node says of itself and of its attempts, and by which the coordinator decides.
// What ranks write is beside it (protocol/output.h).
#ifndef HPC_PROTOCOL_NODE_REPORT_H_
#define HPC_PROTOCOL_NODE_REPORT_H_

#include <variant>
#include <vector>

#include "common/ids.h"
#include "protocol/inventory.h"
#include "protocol/prepare.h"
#include "protocol/recall.h"
#include "protocol/worker_message.h"

namespace hpc::protocol {

// The node is there. It replaces what was known of what its ranks do, and of peers that do not
// answer.
struct Heartbeat {
  std::vector<RankDoing> doing;
  std::vector<PeerSilence> silences;
};

// A rank says that a checkpoint is whole, so a restart now would lose nothing.
struct CheckpointSaved {
  AttemptRef ref;
};

using NodeReport = std::variant<Heartbeat, Inventory, OwnerChanged, Leaving, HandingOver,
                                SleepFailed, Prepared, Started, RankEnded, Doubted, Recalled,
                                AttemptHalted, AttemptReturned, RendezvousReport, CheckpointSaved>;

}  // namespace hpc::protocol

#endif  // HPC_PROTOCOL_NODE_REPORT_H_
