#include "coordinator/core/run_queue.h"

#include <algorithm>

namespace hpc::coordinator {

void RunQueue::Insert(Run* run) {
  tree_.insert(EntryOf(*run));
  run->in_queue = true;
}

void RunQueue::Erase(Run* run) {
  tree_.erase(EntryOf(*run));
  run->in_queue = false;
}

int32_t RunQueue::Position(const Run& run) const {
  if (!Contains(run)) return 0;
  return static_cast<int32_t>(tree_.order_of_key(EntryOf(run))) + 1;
}

std::vector<Run*> RunQueue::First(size_t n) const {
  std::vector<Run*> first;
  first.reserve(std::min(n, tree_.size()));
  for (const Entry& entry : tree_) {
    if (first.size() == n) break;
    first.push_back(entry.run);
  }
  return first;
}

bool RunQueue::Before(const Run& a, const Run& b) { return Order()(EntryOf(a), EntryOf(b)); }

}  // namespace hpc::coordinator
