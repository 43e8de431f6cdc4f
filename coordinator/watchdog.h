// Tells systemd that the daemon's loop goes round. Fed by the loop itself: a timer of its own would
// go on while the loop hangs.
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

  // How long the loop may sleep; Infinite when nobody watches.
  absl::Duration interval() const { return interval_; }
  // Call with each round.
  void Feed(MonoTime now);

 private:
  absl::Duration interval_;  // half of what systemd waits
  MonoTime fed_{-absl::InfiniteDuration()};
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_WATCHDOG_H_
