// The clock of supervisors' events. It also counts the time spent suspended, and means the same to
// every process of this boot.
#ifndef HPC_WORKER_LOOP_BOOT_TIME_H_
#define HPC_WORKER_LOOP_BOOT_TIME_H_

#include <time.h>

#include <cstdint>

namespace hpc::worker {

inline int64_t BootTimeNs() {
  timespec ts;
  clock_gettime(CLOCK_BOOTTIME, &ts);
  return int64_t{ts.tv_sec} * 1'000'000'000 + ts.tv_nsec;
}

}  // namespace hpc::worker

#endif  // HPC_WORKER_LOOP_BOOT_TIME_H_
