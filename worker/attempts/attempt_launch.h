// The part of an attempt's preparation that may wait for a disk: what is found out before anything
// is started, the attempt's files, and its supervisor.
#ifndef HPC_WORKER_ATTEMPTS_ATTEMPT_LAUNCH_H_
#define HPC_WORKER_ATTEMPTS_ATTEMPT_LAUNCH_H_

#include <atomic>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "protocol/prepare.h"
#include "worker/attempts/peers/store_port.h"
#include "worker/attempts/prepare_plan.h"
#include "worker/os/seams.h"
#include "worker/supervisor_client/supervisor_handle.h"

namespace hpc::worker {

struct LaunchOrder {
  protocol::Prepare prepare;
  PrepareContext context;
  absl::Duration lease;              // how long the supervisor may go without ExtendLease
  std::optional<StoreRecord> store;  // the store that this node serves
  bool keeps_warm = false;           // ranks may be started by a warm parent, and one is kept
  HostProbe* host = nullptr;
  std::shared_ptr<SupervisorSpawner> spawner;
  // Set by whoever ordered the launch once it is not wanted any more.
  std::shared_ptr<std::atomic<bool>> unwanted;
};

struct Launch {
  PreparePlan plan;  // without its ranks' programs, which the supervisor has
  protocol::RecallAccess recall;
  // Not OK: no supervisor was made; if plan.status is not OK, it says why. Cancelled: the launch is
  // not wanted any more.
  absl::StatusOr<LaunchedSupervisor> supervisor;
};

// After a failure, files of the attempt may stay behind.
Launch LaunchAttempt(LaunchOrder order);

}  // namespace hpc::worker

#endif  // HPC_WORKER_ATTEMPTS_ATTEMPT_LAUNCH_H_
