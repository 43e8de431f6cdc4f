#include "worker/os/timer_slack.h"

#include <sys/prctl.h>

namespace hpc::worker {

TimerSlack::TimerSlack(absl::Duration slack) : before_ns_(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0)) {
  prctl(PR_SET_TIMERSLACK, absl::ToInt64Nanoseconds(slack), 0, 0, 0);
}

TimerSlack::~TimerSlack() { prctl(PR_SET_TIMERSLACK, before_ns_, 0, 0, 0); }

}  // namespace hpc::worker
