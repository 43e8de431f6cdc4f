// Who has this PC at the moment.
#ifndef HPC_WORKER_CORE_OWNER_STATE_H_
#define HPC_WORKER_CORE_OWNER_STATE_H_

#include <string>

#include "absl/time/time.h"

namespace hpc::worker {

// What makes a PC yield. Sensors, calendars or energy rules would be triggers of their own.
enum class YieldTrigger {
  kCommand = 1,      // `hpc-worker reclaim` on the PC
  kCoordinator = 2,  // `hpcctl reclaim`
};

// This survives restarts of the worker, so it uses wall time.
struct OwnerState {
  bool reclaimed = false;
  absl::Time until = absl::InfiniteFuture();  // infinite: until lent
  std::string reason;
  YieldTrigger trigger = YieldTrigger::kCommand;
  bool unsent = false;  // it changed on the PC, and the coordinator has not heard of that

  bool operator==(const OwnerState&) const = default;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_CORE_OWNER_STATE_H_
