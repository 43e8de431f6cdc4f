// Everything the core knows, as one value that all of its parts work on.
#ifndef HPC_COORDINATOR_CORE_STATE_STATE_H_
#define HPC_COORDINATOR_CORE_STATE_STATE_H_

#include <cstdint>
#include <vector>

#include "common/ids.h"
#include "coordinator/core/state/node_table.h"
#include "coordinator/core/state/pauses.h"
#include "coordinator/core/state/run_queue.h"
#include "coordinator/core/state/run_table.h"
#include "coordinator/core/state/timers.h"
#include "coordinator/core/values/cluster_options.h"

namespace hpc::coordinator {

struct State {
  State(const ClusterOptions& o, RunId last_run) : options(o), nodes(&options), runs(last_run) {}
  State(const State&) = delete;

  const ClusterOptions options;
  NodeTable nodes;
  RunTable runs;
  RunQueue queue;
  Timers timers;
  Pauses pauses;  // of the coordinator itself

  // What the next Tick has to consider.
  bool capacity_changed = true;         // a queued run may fit where it did not before
  std::vector<RunId> newly_queued;      // since the queue was last looked at
  std::vector<Node*> devices_returned;  // nodes that got devices back

  std::vector<RunId> backing_off;  // may contain runs whose back-off is over
  // Runs that are being stopped and have devices kept for them; some may be over.
  std::vector<RunId> keeping;

  MonoTime since{};       // when the coordinator started
  MonoTime seen_saved{};  // when it was last made durable when nodes were heard
  int64_t stale_refused = 0;

  // After a backup was restored: runs with numbers up to `held_run` may have attempts that the
  // backup does not know. By `held_until` the ranks of those attempts have stopped by themselves.
  // None of these runs is started before that.
  absl::Time backup_restored_at;
  RunId held_run = 0;
  MonoTime held_until{};
  bool Held(const Run& run, MonoTime now) const { return run.id() <= held_run && now < held_until; }
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_STATE_STATE_H_
