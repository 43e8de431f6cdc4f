#include "worker/supervisor/os/scheduling.h"

#include <sys/resource.h>

namespace hpc::worker {

bool Scheduling::operator==(const Scheduling& other) const {
  return policy == other.policy && nice == other.nice && CPU_EQUAL(&cpus, &other.cpus) != 0;
}

Scheduling ReadScheduling() {
  Scheduling read;
  read.policy = sched_getscheduler(0);
  read.nice = getpriority(PRIO_PROCESS, 0);
  sched_getaffinity(0, sizeof(read.cpus), &read.cpus);
  return read;
}

}  // namespace hpc::worker
