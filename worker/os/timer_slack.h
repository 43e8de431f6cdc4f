// How much later than asked the timed waits of a thread may end.
#ifndef HPC_WORKER_OS_TIMER_SLACK_H_
#define HPC_WORKER_OS_TIMER_SLACK_H_

#include "absl/time/time.h"

namespace hpc::worker {

// While one lives, the kernel may let timed waits of this thread end so much later, together with
// others, which wakes a PC at rest less often. Threads that are started meanwhile have it for good.
// Must be destroyed on the thread that made it, which then has again what it had before.
class TimerSlack {
 public:
  explicit TimerSlack(absl::Duration slack);
  ~TimerSlack();
  TimerSlack(const TimerSlack&) = delete;
  TimerSlack& operator=(const TimerSlack&) = delete;

 private:
  const int before_ns_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_TIMER_SLACK_H_
