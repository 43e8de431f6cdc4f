// Explains why a run or a node is as it is, in a sentence that follows its name ("running on pc1:
// ..."), and chooses the events that belong to the answer. Pure.
#ifndef HPC_COORDINATOR_RPC_ANSWERS_WHY_H_
#define HPC_COORDINATOR_RPC_ANSWERS_WHY_H_

#include <string>
#include <vector>

#include "coordinator/core/cluster.h"
#include "coordinator/core/values/reports.h"
#include "coordinator/store/store_reader.h"

namespace hpc::coordinator {

// `rendezvous`: what is known about the ranks' rendezvous.
std::string ExplainRun(const RunRow& row, const RunWait& wait, const std::string& rendezvous);
std::string ExplainNode(const Cluster::NodeView& node);

// Keeps each fact once, at the time when it was first known. Returns the events, oldest first,
// without those that repeat the words of an earlier event of the same attempt.
std::vector<EventRecord> TellOnce(const std::vector<EventRecord>& events);

// Returns at most `most` of the events, oldest first. If there are more, the oldest are left out.
// First go the ends of ranks, except the first failure of each attempt, and then any events.
std::vector<EventRecord> Shorten(std::vector<EventRecord> events, size_t most);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_ANSWERS_WHY_H_
