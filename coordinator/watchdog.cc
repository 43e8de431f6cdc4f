#include "coordinator/watchdog.h"

#include <stdlib.h>
#include <unistd.h>

#include "absl/strings/numbers.h"
#include "common/process/notify.h"

namespace hpc::coordinator {

Watchdog Watchdog::FromEnvironment() {
  const char* usec = getenv("WATCHDOG_USEC");
  const char* pid = getenv("WATCHDOG_PID");
  int64_t micros = 0, process = 0;
  if (usec == nullptr || !absl::SimpleAtoi(usec, &micros) || micros <= 0) {
    return Watchdog(absl::InfiniteDuration());
  }
  if (pid != nullptr && absl::SimpleAtoi(pid, &process) && process != getpid()) {
    return Watchdog(absl::InfiniteDuration());
  }
  return Watchdog(absl::Microseconds(micros) / 2);
}

void Watchdog::Feed(MonoTime now) {
  if (interval_ == absl::InfiniteDuration() || now < fed_ + interval_ / 2) return;
  fed_ = now;
  NotifySystemd("WATCHDOG=1");
}

}  // namespace hpc::coordinator
