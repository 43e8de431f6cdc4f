// Tells systemd that the daemon's loop goes round. The loop itself feeds the watchdog: a timer
// would go on while the loop hangs.
#ifndef HPC_COORDINATOR_WATCHDOG_H_
#define HPC_COORDINATOR_WATCHDOG_H_

#include "absl/time/time.h"
#include "common/clock.h"

namespace hpc::coordinator {

class Watchdog {
 public:
  // Reads WATCHDOG_USEC and WATCHDOG_PID as systemd sets them.
  static Watchdog FromEnvironment();
  explicit Watchdog(absl::Duration interval) : interval_(interval) {}

  // How long the loop may sleep; Infinite if nobody watches.
  absl::Duration interval() const { return interval_; }
  // Must be called in each round.
  void Feed(MonoTime now);

 private:
  absl::Duration interval_;  // half of the time that systemd waits
  MonoTime fed_{-absl::InfiniteDuration()};
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_WATCHDOG_H_
