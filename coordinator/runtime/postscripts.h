// What no node waits to be told: it goes behind the next thing that its node is told, in the same
// message, and alone only where nothing comes for a while. Of short runs, one after the other, that
// is a message less for each, and where a client hears of an end its node cleans up after it.
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
  // To the nodes that have just been told something, and where one has waited for kPatience, in the
  // order in which they came. To a node that is not connected: nothing, as of all else.
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
