// The state of a node in words, for tables and reasons.
#ifndef HPC_COORDINATOR_CORE_POLICY_NODE_WORDS_H_
#define HPC_COORDINATOR_CORE_POLICY_NODE_WORDS_H_

#include <string>

#include "absl/time/time.h"
#include "common/clock.h"
#include "coordinator/core/state/node_table.h"

namespace hpc::coordinator {

// One word: "idle", "busy", "reclaimed", "off", "waking", "draining", "falling-asleep", "lost",
// "returning" (to its owner), "reconnecting", "unknown", "stopped" (its worker), "revoked".
std::string NodeStateWord(const Node& node);

// Why it is in that state, in words that are true now: "its owner has taken it back, for another 2
// h", "not heard for 17 s". "" if there is nothing to say.
std::string NodeReason(const Node& node, Now now);

// Why the node cannot be given work now: "is reclaimed by its owner for another 2 h", "is lost".
// "" if it can.
std::string WhyNotUsable(const Node& node, absl::Time now);

// "pc1's GPUs cannot be used: nvmlInit: Driver/library version mismatch". The node must have
// gpu_trouble.
std::string GpuTroubleWords(const std::string& node, const protocol::Inventory& inventory);

// The same to whoever has asked for a run that is kept from the node (IsKeptFrom), with what to do.
std::string KeptFromWords(const std::string& node, const protocol::Inventory& inventory);

// Why nothing will wake the node once it sleeps, and what to do: "Wake-on-LAN is off on eth0 of pc2
// ...". "" if it can be woken, as far as is known.
std::string WhyNotWoken(const Node& node);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_POLICY_NODE_WORDS_H_
