// How the kernel schedules a process. Its children begin with the same values.
#ifndef HPC_WORKER_SUPERVISOR_OS_SCHEDULING_H_
#define HPC_WORKER_SUPERVISOR_OS_SCHEDULING_H_

#include <sched.h>

namespace hpc::worker {

// Whoever shares our account may change all of these, and we may not change all of them back.
struct Scheduling {
  int policy = 0;
  int nice = 0;
  cpu_set_t cpus{};

  bool operator==(const Scheduling& other) const;
};

// The values of this thread. What the kernel does not tell is left at 0.
Scheduling ReadScheduling();

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_OS_SCHEDULING_H_
