#include "worker/os/process_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace hpc::worker {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ProcessWordsTest, SayInWhatAProcessWaits) {
  EXPECT_EQ(WordsOfStat("4711 (python3) S 1 4711", "futex_wait_queue"),
            "python3 (4711) sleeps in futex_wait_queue");
  EXPECT_EQ(WordsOfStat("4711 (python3) D 1 4711", "nvidia_close"),
            "python3 (4711) is in uninterruptible sleep in nvidia_close");
  EXPECT_EQ(WordsOfStat("4711 (python3) S 1", "0"), "python3 (4711) sleeps");
}

TEST(ProcessWordsTest, SayWhetherItComputesOrIsStopped) {
  EXPECT_EQ(WordsOfStat("7 (a) R 1", "0"), "a (7) computes");
  EXPECT_EQ(WordsOfStat("7 (a) T 1", "do_signal_stop"), "a (7) is stopped by a signal");
  EXPECT_EQ(WordsOfStat("7 (a) Z 1", ""), "a (7) has ended");
}

TEST(ProcessWordsTest, ANameMayHoldAnything) {
  EXPECT_EQ(WordsOfStat("7 (a) S (b) c) R 1", ""), "a) S (b) c (7) computes");
  for (const char* stat : {"", "7", "7 (a", "7 (a)", "7 (a) ", ") 7 ("}) {
    EXPECT_EQ(WordsOfStat(stat, ""), "") << stat;
  }
}

TEST(ProcessWordsTest, OfARealProcess) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    raise(SIGSTOP);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  EXPECT_THAT(ProcessWords(child), HasSubstr(absl::StrCat("(", child, ") is stopped by a signal")));
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  EXPECT_EQ(ProcessWords(child), "");
}

}  // namespace
}  // namespace hpc::worker
