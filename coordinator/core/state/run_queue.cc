#include "coordinator/core/state/run_queue.h"

#include <algorithm>
#include <iterator>

namespace hpc::coordinator {

void RunQueue::Insert(Run* run) {
  asked_position_ = 0;
  tree_.insert(EntryOf(*run));
  run->in_queue = true;
}

void RunQueue::Erase(Run* run) {
  asked_position_ = 0;
  tree_.erase(EntryOf(*run));
  run->in_queue = false;
}

int32_t RunQueue::Position(const Run& run) const {
  if (!Contains(run)) return 0;
  // A listing asks for the positions of all runs, from the last to the first.
  if (asked_position_ > 1 && std::prev(asked_)->run == &run) {
    --asked_;
    return --asked_position_;
  }
  asked_ = tree_.find(EntryOf(run));
  asked_position_ = static_cast<int32_t>(tree_.order_of_key(EntryOf(run))) + 1;
  return asked_position_;
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
