// Puts the machine to sleep by running a command, and finds out whether it is going down.
#ifndef HPC_WORKER_OS_MACHINE_POWER_H_
#define HPC_WORKER_OS_MACHINE_POWER_H_

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "worker/os/seams.h"
#include "worker/os/sleep_inhibitor.h"

namespace hpc::worker {

// What Sleep runs if nothing is configured. It asks logind to suspend, as a desktop's button does.
inline constexpr char kLogindSuspend[] =
    "busctl call org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager "
    "Suspend b false";

// SleepTrouble runs this.
inline constexpr char kAskLogind[] =
    "busctl call org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager "
    "CanSuspend";

// GoingDown runs this. At a shutdown, whatever ends this process already says here that the machine
// goes down.
inline constexpr char kAskSystem[] =
    "systemctl is-system-running; busctl get-property org.freedesktop.login1 "
    "/org/freedesktop/login1 org.freedesktop.login1.Manager PreparingForShutdown PreparingForSleep";

// What is wrong if kAskLogind ended like this; "": the PC can be suspended.
std::string SleepTroubleOf(bool answered, absl::string_view output);

// Whether the output of kAskSystem means that the machine goes down.
bool SaysGoingDown(absl::string_view output);

class PowerCommand : public Power {
 public:
  // `command` is a shell command; "" means kLogindSuspend.
  explicit PowerCommand(std::string command, absl::Duration limit = absl::Seconds(60));

  // Runs the command with the worker's own environment and waits for it. FailedPrecondition: it
  // failed; the error names the command, how it ended and its last words. DeadlineExceeded: it ran
  // longer than the limit and was killed. The clock stands still while the machine sleeps, so a
  // command that returns only after waking up is fine.
  absl::Status Sleep() override;
  // Why Sleep would fail, as far as logind knows; "": nothing is known, as of any other command.
  // Takes two seconds at most.
  std::string SleepTrouble() const;
  // False if neither systemd nor logind is there, or if they do not answer.
  bool GoingDown() override;
  // See SleepInhibitor. Sleep lets it go first.
  void KeepAwake(bool awake) override;

 private:
  const std::string command_;
  const absl::Duration limit_;
  absl::Mutex mutex_;
  SleepInhibitor inhibitor_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_MACHINE_POWER_H_
