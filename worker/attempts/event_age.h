// How long ago something happened that a supervisor, or its journal, tells of.
#ifndef HPC_WORKER_ATTEMPTS_EVENT_AGE_H_
#define HPC_WORKER_ATTEMPTS_EVENT_AGE_H_

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"

namespace hpc::worker {

// Both times are of CLOCK_BOOTTIME, and `now_ns` is right. Whoever has the supervisor's account may
// have written `at_ns`, so a time in the future counts as now, and a time before the boot as the
// boot.
inline absl::Duration EventAge(int64_t at_ns, int64_t now_ns) {
  return absl::Nanoseconds(now_ns - std::clamp<int64_t>(at_ns, 0, now_ns));
}

}  // namespace hpc::worker

#endif  // HPC_WORKER_ATTEMPTS_EVENT_AGE_H_
