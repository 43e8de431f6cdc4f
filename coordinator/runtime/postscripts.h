// A postscript is something that no node waits to be told. It goes in one message with the next
// thing that its node is told, and is sent alone only if nothing comes for a while. For short runs,
// one after the other, this saves a message each. And a node cleans up only after the client has
// heard of the end.
#ifndef HPC_COORDINATOR_RUNTIME_POSTSCRIPTS_H_
#define HPC_COORDINATOR_RUNTIME_POSTSCRIPTS_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"
#include "coordinator/runtime/node_links.h"

namespace hpc::coordinator {

class Postscripts {
 public:
  static constexpr absl::Duration kPatience = absl::Milliseconds(20);

  explicit Postscripts(const NodeLinks* links) : links_(links) {}

  using Say = std::function<void(NodeLink*)>;
  void Add(MonoTime now, const std::string& node, Say say);
  // Sends to the nodes that have just been told something, and to those where a postscript has
  // waited for kPatience, in the order in which they came. A node that is not connected gets
  // nothing, as with all other messages.
  void Send(MonoTime now, const std::set<std::string>& told);
  MonoTime NextDeadline() const;

 private:
  struct Waiting {
    MonoTime since;
    std::vector<Say> say;
  };
  const NodeLinks* const links_;
  std::map<std::string, Waiting> waiting_;  // by node
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RUNTIME_POSTSCRIPTS_H_
