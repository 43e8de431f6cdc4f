// Puts the machine to sleep by a command.
#ifndef HPC_WORKER_OS_POWER_COMMAND_H_
#define HPC_WORKER_OS_POWER_COMMAND_H_

#include <string>

#include "absl/time/time.h"
#include "worker/os/seams.h"

namespace hpc::worker {

// What Sleep runs when nothing is configured: asks logind to suspend, as a desktop's button does.
inline constexpr char kLogindSuspend[] =
    "busctl call org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager "
    "Suspend b false";

class PowerCommand : public Power {
 public:
  // `command`: a shell command; "" means kLogindSuspend.
  explicit PowerCommand(std::string command, absl::Duration limit = absl::Seconds(60));

  // Waits for the command, with the worker's own environment.
  // FailedPrecondition: it failed (names it, how it ended and its own last words).
  // DeadlineExceeded: it ran longer than the limit and was killed; the clock stands still while the
  // machine sleeps, so a command that returns after waking up is fine.
  absl::Status Sleep() override;

 private:
  const std::string command_;
  const absl::Duration limit_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_POWER_COMMAND_H_
