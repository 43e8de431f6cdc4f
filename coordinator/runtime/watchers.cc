#include "coordinator/runtime/watchers.h"

#include <vector>

namespace hpc::coordinator {

void Watchers::WatchRun(RunId run, Watcher* watcher) {
  Unwatch(watcher);
  by_run_[run].insert(watcher);
  watched_[watcher] = run;
}

void Watchers::WatchEvents(Watcher* watcher) {
  Unwatch(watcher);
  of_events_.insert(watcher);
  watched_[watcher] = kEvents;
}

void Watchers::Unwatch(Watcher* watcher) {
  const auto found = watched_.find(watcher);
  if (found == watched_.end()) return;
  const RunId run = found->second;
  watched_.erase(found);
  of_events_.erase(watcher);
  const auto of_run = by_run_.find(run);
  if (of_run == by_run_.end()) return;
  of_run->second.erase(watcher);
  if (of_run->second.empty()) by_run_.erase(of_run);
}

void Watchers::PokeAll(const Set& watchers, void (Watcher::*poke)()) {
  const std::vector<Watcher*> now(watchers.begin(), watchers.end());
  for (Watcher* watcher : now) {
    if (watched_.contains(watcher)) (watcher->*poke)();
  }
}

void Watchers::PokeRun(RunId run) {
  const auto found = by_run_.find(run);
  if (found != by_run_.end()) PokeAll(found->second, &Watcher::Poke);
}

void Watchers::PokeEvents() { PokeAll(of_events_, &Watcher::Poke); }

void Watchers::PokeProgress() {
  Set all;
  for (const auto& [run, watchers] : by_run_) all.insert(watchers.begin(), watchers.end());
  PokeAll(all, &Watcher::PokeProgress);
}

}  // namespace hpc::coordinator
