// The watchers that want to know when something new can be read.
#ifndef HPC_COORDINATOR_RUNTIME_WATCHERS_H_
#define HPC_COORDINATOR_RUNTIME_WATCHERS_H_

#include <map>
#include <set>

#include "common/ids.h"
#include "coordinator/runtime/engine.h"

namespace hpc::coordinator {

// A watcher may unwatch itself or others while it is being poked.
class Watchers {
 public:
  void WatchRun(RunId run, Watcher* watcher);
  void WatchEvents(Watcher* watcher);
  void Unwatch(Watcher* watcher);

  bool follow_runs() const { return !by_run_.empty(); }

  void PokeRun(RunId run);
  void PokeEvents();
  void PokeProgress();  // for all runs that are watched

 private:
  using Set = std::set<Watcher*>;
  static constexpr RunId kEvents = 0;

  void PokeAll(const Set& watchers, void (Watcher::*poke)());

  std::map<RunId, Set> by_run_;
  Set of_events_;
  std::map<Watcher*, RunId> watched_;  // kEvents: every event
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RUNTIME_WATCHERS_H_
