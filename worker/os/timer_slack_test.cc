#include "worker/os/timer_slack.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <thread>

namespace hpc::worker {
namespace {

int SlackNs() { return prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0); }

TEST(TimerSlackTest, HoldsForTheThreadAndThoseItStartsUntilItIsGone) {
  const int before = SlackNs();
  int of_thread = 0;
  {
    const TimerSlack slack(absl::Milliseconds(700));
    EXPECT_EQ(SlackNs(), 700'000'000);
    std::thread([&of_thread] { of_thread = SlackNs(); }).join();
  }
  EXPECT_EQ(of_thread, 700'000'000);
  EXPECT_EQ(SlackNs(), before);
}

}  // namespace
}  // namespace hpc::worker
