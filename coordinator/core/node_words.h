// The state of a node in words, for tables and reasons.
#ifndef HPC_COORDINATOR_CORE_NODE_WORDS_H_
#define HPC_COORDINATOR_CORE_NODE_WORDS_H_

#include <string>

#include "absl/time/time.h"
#include "coordinator/core/node_table.h"

namespace hpc::coordinator {

// One word: "idle", "busy", "reclaimed", "off", "waking", "draining", "falling-asleep", "lost",
// "returning" (to its owner), "reconnecting", "unknown".
std::string NodeStateWord(const Node& node);

// Why the node cannot be given work now: "is reclaimed by its owner for another 2 h", "is lost".
// "" if it can.
std::string WhyNotUsable(const Node& node, absl::Time now);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_NODE_WORDS_H_
