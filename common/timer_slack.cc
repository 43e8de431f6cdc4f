#include "common/timer_slack.h"

#include <sys/prctl.h>

namespace hpc {

TimerSlack::TimerSlack(absl::Duration slack) : former_ns_(prctl(PR_GET_TIMERSLACK)) {
  prctl(PR_SET_TIMERSLACK, absl::ToInt64Nanoseconds(slack));
}

TimerSlack::~TimerSlack() { prctl(PR_SET_TIMERSLACK, former_ns_); }

}  // namespace hpc
