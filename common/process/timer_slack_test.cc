#include "common/process/timer_slack.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <thread>

namespace hpc {
namespace {

int Slack() { return prctl(PR_GET_TIMERSLACK); }

int SlackOfNewThread() {
  int slack = 0;
  std::thread([&slack] { slack = Slack(); }).join();
  return slack;
}

TEST(TimerSlackTest, HoldsForThreadsThatAreStartedWhileItLives) {
  const TimerSlack slack(absl::Milliseconds(30));
  EXPECT_EQ(SlackOfNewThread(), 30'000'000);
}

TEST(TimerSlackTest, TheThreadThatMadeItHasItsOwnAgainAfterwards) {
  const int before = Slack();
  { const TimerSlack slack(absl::Milliseconds(30)); }
  EXPECT_EQ(Slack(), before);
  EXPECT_EQ(SlackOfNewThread(), before);
}

}  // namespace
}  // namespace hpc
