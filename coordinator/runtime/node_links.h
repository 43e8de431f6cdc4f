// The connected workers.
#ifndef HPC_COORDINATOR_RUNTIME_NODE_LINKS_H_
#define HPC_COORDINATOR_RUNTIME_NODE_LINKS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "coordinator/runtime/engine.h"

namespace hpc::coordinator {

class NodeLinks {
 public:
  // Takes the place of an older connection of the same worker, which is closed.
  void Add(const Session& session, NodeLink* link);
  void Remove(const Session& session);

  // Null if the node is not connected.
  NodeLink* Find(const std::string& node) const;
  // The session of the connected worker; nullopt if the node is not connected.
  std::optional<Session> SessionOf(const std::string& node) const;
  // FailedPrecondition unless this is the connected session of its node.
  absl::Status Check(const Session& session) const;

  void CloseAll(const absl::Status& reason);

 private:
  struct Entry {
    uint64_t incarnation = 0;
    NodeLink* link = nullptr;
  };
  absl::flat_hash_map<std::string, Entry> entries_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RUNTIME_NODE_LINKS_H_
