// The runs that wait for devices, in the order in which they are served: priority, then age.
#ifndef HPC_COORDINATOR_CORE_STATE_RUN_QUEUE_H_
#define HPC_COORDINATOR_CORE_STATE_RUN_QUEUE_H_

#include <cstdint>
#include <ext/pb_ds/assoc_container.hpp>
#include <vector>

#include "common/ids.h"
#include "coordinator/core/state/run_table.h"

namespace hpc::coordinator {

class RunQueue {
 public:
  RunQueue() = default;
  RunQueue(const RunQueue&) = delete;
  RunQueue& operator=(const RunQueue&) = delete;

  // O(log n). A run is kept by address and must leave the queue before it is destroyed.
  void Insert(Run* run);
  void Erase(Run* run);
  bool Contains(const Run& run) const { return run.in_queue; }
  // 1 is next; 0: not in the queue. O(log n), or O(1) for the run in front of the one that was last
  // asked for.
  int32_t Position(const Run& run) const;

  Run* front() const { return tree_.empty() ? nullptr : tree_.begin()->run; }
  bool empty() const { return tree_.empty(); }
  size_t size() const { return tree_.size(); }
  // The first `n` runs, in order.
  std::vector<Run*> First(size_t n) const;

  // True if `a` is served before `b`.
  static bool Before(const Run& a, const Run& b);

 private:
  struct Entry {
    int32_t priority;
    RunId id;
    Run* run;
  };
  struct Order {
    bool operator()(const Entry& a, const Entry& b) const {
      return a.priority != b.priority ? a.priority > b.priority : a.id < b.id;
    }
  };
  // A balanced tree that also knows how many entries come before one.
  using Tree = __gnu_pbds::tree<Entry, __gnu_pbds::null_type, Order, __gnu_pbds::rb_tree_tag,
                                __gnu_pbds::tree_order_statistics_node_update>;

  static Entry EntryOf(const Run& run) {
    return {run.request().priority, run.id(), const_cast<Run*>(&run)};
  }
  Tree tree_;
  // The run whose position was asked for last. `asked_position_` 0: the queue has changed since.
  mutable Tree::const_iterator asked_;
  mutable int32_t asked_position_ = 0;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_STATE_RUN_QUEUE_H_
