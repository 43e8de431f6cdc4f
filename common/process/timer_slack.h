// How late the kernel may wake a thread that waits for a time, so that it can wake several at once.
#ifndef HPC_COMMON_PROCESS_TIMER_SLACK_H_
#define HPC_COMMON_PROCESS_TIMER_SLACK_H_

#include "absl/time/time.h"

namespace hpc {

// While it lives, what the calling thread waits for with a timeout, and what threads that it starts
// then wait for all their lives, may end as much as `slack` too late. Processes that such a thread
// starts inherit it too. Afterwards the calling thread has the slack that it began its life with.
class TimerSlack {
 public:
  explicit TimerSlack(absl::Duration slack);
  ~TimerSlack();
  TimerSlack(const TimerSlack&) = delete;
  TimerSlack& operator=(const TimerSlack&) = delete;
};

}  // namespace hpc

#endif  // HPC_COMMON_PROCESS_TIMER_SLACK_H_
