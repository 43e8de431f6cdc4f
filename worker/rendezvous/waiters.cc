#include "worker/rendezvous/waiters.h"

#include <utility>

namespace hpc::worker::store {

uint64_t Waiters::Add(uint64_t owner, const std::vector<std::string>& keys) {
  const uint64_t id = next_id_++;
  State& state = waits_[id];
  state.owner = owner;
  state.missing.insert(keys.begin(), keys.end());
  for (const std::string& key : state.missing) by_key_[key].insert(id);
  return id;
}

std::vector<Waiters::Wait> Waiters::Came(absl::string_view key) {
  std::vector<Wait> ended;
  const auto it = by_key_.find(key);
  if (it == by_key_.end()) return ended;
  for (const uint64_t id : it->second) {
    const auto wait = waits_.find(id);
    wait->second.missing.erase(it->first);
    if (!wait->second.missing.empty()) continue;
    ended.push_back({id, wait->second.owner});
    waits_.erase(wait);
  }
  by_key_.erase(it);
  return ended;
}

std::vector<Waiters::Wait> Waiters::CameForOne(absl::string_view key) {
  std::vector<Wait> ended;
  const auto it = by_key_.find(key);
  if (it == by_key_.end()) return ended;
  std::set<uint64_t>& ids = it->second;
  while (!ids.empty() && ended.empty()) {
    const auto wait = waits_.find(*ids.begin());
    ids.erase(ids.begin());
    wait->second.missing.erase(it->first);
    if (!wait->second.missing.empty()) continue;
    ended.push_back({wait->first, wait->second.owner});
    waits_.erase(wait);
  }
  if (ids.empty()) by_key_.erase(it);
  return ended;
}

void Waiters::Cancel(uint64_t id) {
  const auto wait = waits_.find(id);
  if (wait == waits_.end()) return;
  for (const std::string& key : wait->second.missing) {
    const auto it = by_key_.find(key);
    it->second.erase(id);
    if (it->second.empty()) by_key_.erase(it);
  }
  waits_.erase(wait);
}

std::string Waiters::MostAwaitedKey() const {
  auto most = by_key_.end();
  for (auto it = by_key_.begin(); it != by_key_.end(); ++it) {
    const bool better =
        most == by_key_.end() || it->second.size() > most->second.size() ||
        (it->second.size() == most->second.size() && *it->second.begin() < *most->second.begin());
    if (better) most = it;
  }
  return most == by_key_.end() ? "" : most->first;
}

}  // namespace hpc::worker::store
