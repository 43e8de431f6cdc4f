#include "coordinator/core/state/run_table.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

namespace hpc::coordinator {

bool IsLegal(RunState from, RunState to) {
  switch (from) {
    case RunState::kQueued:
      return to == RunState::kStarting || to == RunState::kFailed || to == RunState::kCancelled;
    case RunState::kStarting:
      return to == RunState::kRunning || to == RunState::kStopping;
    case RunState::kRunning:
      return to == RunState::kStopping || to == RunState::kSucceeded;
    case RunState::kStopping:
      return to == RunState::kQueued || IsTerminal(to);
    case RunState::kSucceeded:
    case RunState::kFailed:
    case RunState::kCancelled:
    case RunState::kTimedOut:
      return false;
  }
  return false;
}

Run* RunTable::Add(RunRecord record) {
  auto run = std::make_unique<Run>();
  run->record = std::move(record);
  ++counts_[static_cast<size_t>(run->record.state)];
  ++counts_of_users_[run->request().user];
  last_ = std::max(last_, run->record.id);
  Run* added = run.get();
  runs_[added->record.id] = std::move(run);
  return added;
}

void RunTable::Remove(RunId id) {
  auto it = runs_.find(id);
  if (it == runs_.end()) return;
  --counts_[static_cast<size_t>(it->second->record.state)];
  const auto user = counts_of_users_.find(it->second->request().user);
  if (--user->second == 0) counts_of_users_.erase(user);
  runs_.erase(it);
}

int32_t RunTable::CountOf(const std::string& user) const {
  const auto found = counts_of_users_.find(user);
  return found == counts_of_users_.end() ? 0 : found->second;
}

Run* RunTable::Find(RunId id) {
  auto it = runs_.find(id);
  return it == runs_.end() ? nullptr : it->second.get();
}

const Run* RunTable::Find(RunId id) const { return const_cast<RunTable*>(this)->Find(id); }

const Run* RunTable::NewestBelow(RunId before) const {
  auto it = runs_.lower_bound(before);
  return it == runs_.begin() ? nullptr : std::prev(it)->second.get();
}

void RunTable::SetState(Run* run, RunState to) {
  assert(IsLegal(run->record.state, to));
  --counts_[static_cast<size_t>(run->record.state)];
  run->record.state = to;
  ++counts_[static_cast<size_t>(to)];
}

std::vector<RunId> RunTable::Ids() const {
  std::vector<RunId> ids;
  ids.reserve(runs_.size());
  for (const auto& [id, run] : runs_) ids.push_back(id);
  return ids;
}

}  // namespace hpc::coordinator
