// Why a run or a node is as it is, in a sentence that follows its name: "running on pc1: ...", and
// which events belong to the answer. Pure.
#ifndef HPC_COORDINATOR_RPC_ANSWERS_WHY_H_
#define HPC_COORDINATOR_RPC_ANSWERS_WHY_H_

#include <string>
#include <vector>

#include "coordinator/core/cluster.h"
#include "coordinator/core/values/reports.h"
#include "coordinator/store/store.h"

namespace hpc::coordinator {

// `rendezvous`: what is known of the ranks' meeting.
std::string ExplainRun(const RunRow& row, const RunWait& wait, const std::string& rendezvous);
std::string ExplainNode(const Cluster::NodeView& node);

// Each fact once, when it was first known: the events, oldest first, without those of an attempt
// whose words an earlier one of it has too.
std::vector<EventRecord> TellOnce(const std::vector<EventRecord>& events);

// At most `most` of them, oldest first. Of more, the oldest are left out: first of the ends of
// ranks but for the first failure of each attempt, then of all.
std::vector<EventRecord> Shorten(std::vector<EventRecord> events, size_t most);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_ANSWERS_WHY_H_
