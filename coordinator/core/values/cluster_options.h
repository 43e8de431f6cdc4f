// How a cluster is run, and what the coordinator keeps of it across a restart.
#ifndef HPC_COORDINATOR_CORE_VALUES_CLUSTER_OPTIONS_H_
#define HPC_COORDINATOR_CORE_VALUES_CLUSTER_OPTIONS_H_

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "common/ids.h"
#include "coordinator/core/values/effects.h"
#include "coordinator/core/values/records.h"

namespace hpc::coordinator {

struct ClusterOptions {
  absl::Duration lease = absl::Seconds(6);               // silence after which a node is lost
  absl::Duration reconnect_grace = absl::Seconds(3);     // the same after a broken connection
  absl::Duration heartbeat_interval = absl::Seconds(2);  // nodes are told to keep to it
  absl::Duration prepare_timeout = absl::Seconds(20);
  absl::Duration start_timeout = absl::Seconds(20);
  absl::Duration wake_timeout = absl::Minutes(3);
  absl::Duration wake_retry = absl::Minutes(10);  // how long a node that did not wake is left alone
  absl::Duration sleep_timeout = absl::Minutes(1);  // after this a node counts as asleep
  // A worker lets ranks run this long without hearing from the coordinator. Therefore the devices
  // of a lost node also count as taken for this long.
  absl::Duration stop_after_disconnect = absl::Minutes(5);
  absl::Duration restart_backoff = absl::Seconds(1);  // doubles per failure, at most 60 times
  // A run that could start waits this long for more nodes, up to its maximum.
  absl::Duration last_call = absl::Seconds(2);
  // A gang grows onto a node only when the node has been there, and the gang has run, this long.
  absl::Duration grow_steady = absl::Seconds(30);
  int32_t infrastructure_retries = 10;  // lost nodes and failed starts per run
  int32_t backfill_depth = 1000;        // queued runs that are considered behind the first
  int32_t runs_per_user = 20'000;       // counts those that are not over
  int32_t user_priority = 1000;         // the highest that a user who is no admin may ask for
};

// The durable state was restored from a backup: what was given out after the backup is not known.
struct Restored {
  absl::Time at = absl::InfinitePast();  // infinite past: it never was restored
  RunId known_run = 0;                   // the newest run of the backup
  // Attempts of these runs up to this number may have been given out.
  int32_t taken_attempt = 0;
  bool hold_over = false;  // a HoldOver has said that this is over
};

// The state that survives a restart of the coordinator. Finished runs are not part of it.
struct Snapshot {
  RunId last_run = 0;  // numbers up to this one are taken
  EventId last_event = 0;
  Restored restored;
  std::vector<RunRecord> runs;              // all that are not terminal
  std::vector<AttemptRecord> attempts;      // of those runs, all that have not ended
  std::vector<PlacementRecord> placements;  // of the newest attempt of each of those runs
  std::vector<RankRecord> ranks;            // of those attempts
  std::vector<NodeRecord> nodes;
  // How far the wall clock was set forward since these times were written. Zero also if the machine
  // has restarted since, which hides it.
  absl::Duration clock_set;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_VALUES_CLUSTER_OPTIONS_H_
