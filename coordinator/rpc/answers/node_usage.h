// What the devices of each node are doing now, as their last heartbeats said. In memory only.
#ifndef HPC_COORDINATOR_RPC_ANSWERS_NODE_USAGE_H_
#define HPC_COORDINATOR_RPC_ANSWERS_NODE_USAGE_H_

#include <string>

#include "absl/container/flat_hash_map.h"
#include "hpc/v1/node.pb.h"
#include "hpc/v1/worker.pb.h"

namespace hpc::coordinator {

class NodeUsage {
 public:
  // An empty heartbeat changes nothing.
  void Update(const std::string& node, const v1::Heartbeat& heartbeat) {
    if (heartbeat.usage_size() > 0) usage_[node] = heartbeat;
  }
  void Forget(const std::string& node) { usage_.erase(node); }
  void AddTo(v1::Node* node) const {
    const auto found = usage_.find(node->name());
    if (found != usage_.end()) *node->mutable_usage() = found->second.usage();
  }

 private:
  absl::flat_hash_map<std::string, v1::Heartbeat> usage_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_ANSWERS_NODE_USAGE_H_
