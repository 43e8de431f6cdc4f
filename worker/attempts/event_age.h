// How long ago something was that a supervisor tells of, or its journal.
#ifndef HPC_WORKER_ATTEMPTS_EVENT_AGE_H_
#define HPC_WORKER_ATTEMPTS_EVENT_AGE_H_

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"

namespace hpc::worker {

// Both of CLOCK_BOOTTIME, `now_ns` being right. Whoever has the supervisor's account may have
// written `at_ns`: what is yet to come is now, and what was before the boot was then.
inline absl::Duration EventAge(int64_t at_ns, int64_t now_ns) {
  return absl::Nanoseconds(now_ns - std::clamp<int64_t>(at_ns, 0, now_ns));
}

}  // namespace hpc::worker

#endif  // HPC_WORKER_ATTEMPTS_EVENT_AGE_H_
