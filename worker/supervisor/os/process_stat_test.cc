#include "worker/supervisor/os/process_stat.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace hpc::worker {
namespace {

TEST(ProcessStatTest, FieldsAreFoundBehindAnyName) {
  const auto stat = ParseProcessStat(
      "4711 (a) S (b) c) R 1 4700 4600 0 -1 4194304 1 0 0 0 1 1 0 0 20 0 1 0 300 1 2 3\n");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->pid, 4711);
  EXPECT_EQ(stat->name, "a) S (b) c");
  EXPECT_EQ(stat->state, 'R');
  EXPECT_EQ(stat->group, 4700);
  EXPECT_EQ(stat->session, 4600);
  EXPECT_EQ(stat->started_ns, 300 * (1'000'000'000 / sysconf(_SC_CLK_TCK)));
}

TEST(ProcessStatTest, OneThatIsToBeReapedHasEnded) {
  EXPECT_TRUE(ParseProcessStat("7 (a) Z 1")->Ended());
  EXPECT_FALSE(ParseProcessStat("7 (a) D 1")->Ended());
}

TEST(ProcessStatTest, WhatIsNoSuchTextIsNoProcess) {
  for (const char* text : {"", "7", "7 (a", "7 (a)", "7 (a) ", ") 7 (", "x (a) R 1"}) {
    EXPECT_FALSE(ParseProcessStat(text)) << text;
  }
}

TEST(ProcessStatTest, OfOurselves) {
  const auto stat = ReadProcessStat(getpid());
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->pid, getpid());
  EXPECT_EQ(stat->session, getsid(0));
  EXPECT_GT(stat->started_ns, 0);
}

TEST(ProcessStatTest, WhoAnswersASignal) {
  signal(SIGTERM, SIG_DFL);
  EXPECT_FALSE(AnswersSignal(getpid(), SIGTERM));
  signal(SIGTERM, [](int) {});
  EXPECT_TRUE(AnswersSignal(getpid(), SIGTERM));
  signal(SIGTERM, SIG_IGN);
  EXPECT_TRUE(AnswersSignal(getpid(), SIGTERM));
  signal(SIGTERM, SIG_DFL);
  EXPECT_FALSE(AnswersSignal(0, SIGTERM)) << "there is no such process";
}

}  // namespace
}  // namespace hpc::worker
