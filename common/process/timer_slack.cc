#include "common/process/timer_slack.h"

#include <sys/prctl.h>

namespace hpc {

TimerSlack::TimerSlack(absl::Duration slack) {
  prctl(PR_SET_TIMERSLACK, absl::ToInt64Nanoseconds(slack));
}

TimerSlack::~TimerSlack() { prctl(PR_SET_TIMERSLACK, 0); }

}  // namespace hpc
