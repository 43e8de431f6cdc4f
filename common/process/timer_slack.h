// Sets how late the kernel may wake a thread from a timed wait, so that it can wake several at
// once.
#ifndef HPC_COMMON_PROCESS_TIMER_SLACK_H_
#define HPC_COMMON_PROCESS_TIMER_SLACK_H_

#include "absl/time/time.h"

namespace hpc {

// While this object lives, timed waits of the calling thread may end as much as `slack` too late.
// Threads that it starts meanwhile have that slack all their lives, and so have processes that such
// a thread starts. Afterwards the calling thread has the slack that it began its life with.
class TimerSlack {
 public:
  explicit TimerSlack(absl::Duration slack);
  ~TimerSlack();
  TimerSlack(const TimerSlack&) = delete;
  TimerSlack& operator=(const TimerSlack&) = delete;
};

}  // namespace hpc

#endif  // HPC_COMMON_PROCESS_TIMER_SLACK_H_
