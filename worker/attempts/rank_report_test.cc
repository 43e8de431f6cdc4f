#include "worker/attempts/rank_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <string>

#include "worker/attempts/rank_exit.h"
#include "worker/supervisor_client/foreign_file.h"
#include "worker/testing/temp_dir.h"

namespace hpc::worker {
namespace {

TEST(RankReportTest, ReadsPythonsErrorFile) {
  const auto report = ParseErrorFile(
      R"({"message": {"message": "ValueError: text", "errorCode": 1,
          "extraInfo": {"py_callstack": "Traceback ...", "timestamp": "1795219562"}}})");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->message, "ValueError: text");
  EXPECT_EQ(report->traceback, "Traceback ...");
}

TEST(RankReportTest, ReadsTheCppForm) {
  const auto report = ParseErrorFile(R"({"message": "terminate called", "timestamp": 1795219562})");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->message, "terminate called");
  EXPECT_EQ(report->traceback, "");
}

TEST(RankReportTest, AnythingElseIsNoReport) {
  for (const char* text : {"", "{", "[]", "{}", "null", "\"x\"", R"({"message": 3})", "{\"\xff"}) {
    EXPECT_FALSE(ParseErrorFile(text)) << text;
  }
}

TEST(RankReportTest, MissingPartsAreEmpty) {
  const auto report = ParseErrorFile(R"({"message": {"extraInfo": 7}})");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->message, "");
  EXPECT_EQ(report->traceback, "");
}

TEST(RankReportTest, KeepsTheEndOfALongMessage) {
  const auto report = ParseErrorFile("{\"message\": \"" + std::string(100'000, 'x') + "the end\"}");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->message.size(), 16u << 10);
  EXPECT_THAT(report->message, ::testing::EndsWith("the end"));
}

TEST(LastLinesTest, AreTheLastOnesWithoutBlankEnd) {
  EXPECT_EQ(LastLines("a\nb\nc\n\n", 2, 100), "b\nc");
  EXPECT_EQ(LastLines("a\nb", 5, 100), "a\nb");
  EXPECT_EQ(LastLines("one", 1, 100), "one");
  EXPECT_EQ(LastLines("", 3, 100), "");
  EXPECT_EQ(LastLines("\n\n", 3, 100), "");
}

TEST(LastLinesTest, AreAtMostSoManyBytes) { EXPECT_EQ(LastLines("abcdef\nghi", 2, 5), "f\nghi"); }

class RankExitTest : public ::testing::Test {
 protected:
  testing::TempDir dir_;
};

TEST_F(RankExitTest, ReadsWhatWaitpidSays) {
  EXPECT_EQ(ToRankExit(RankExited{.wait_status = 3 << 8}).exit_code, 3);
  EXPECT_EQ(ToRankExit(RankExited{.wait_status = SIGKILL}).signal, SIGKILL);
  EXPECT_TRUE(ToRankExit(RankExited{.wait_status = 0, .after_stop = true}).after_stop);
}

TEST_F(RankExitTest, AProgramThatCannotBeExecutedEndsAsAShellSaysIt) {
  const protocol::RankExit missing =
      ToRankExit(RankStartFailed{.error = ENOENT, .what = "execve /x"});
  EXPECT_EQ(missing.exit_code, 127);
  EXPECT_EQ(missing.message, "execve /x: No such file or directory");
  EXPECT_EQ(ToRankExit(RankStartFailed{.error = EACCES, .what = "execve /x"}).exit_code, 126);
}

TEST_F(RankExitTest, TheErrorFileIsPreferredToStderr) {
  dir_.Append("rank-0.err", "stderr\n");
  protocol::RankExit exit;
  exit.exit_code = 1;
  ExplainExit(dir_.path(), 0, &exit);
  EXPECT_EQ(exit.message, "stderr");
  dir_.Append("error-0.json", R"({"message": "the reason"})");
  exit.message.clear();
  ExplainExit(dir_.path(), 0, &exit);
  EXPECT_EQ(exit.message, "the reason");
}

TEST_F(RankExitTest, AnErrorFileThatIsTooLongIsNamedWhereNothingElseIsSaid) {
  dir_.Append("error-0.json", R"({"message": ")" + std::string(1 << 20, 'x') + "\"}");
  protocol::RankExit exit;
  exit.exit_code = 1;
  ExplainExit(dir_.path(), 0, &exit);
  EXPECT_EQ(exit.message, "its error file has 1048591 bytes, more than the 1048576 that are read");
  dir_.Append("rank-0.err", "stderr\n");
  exit.message.clear();
  ExplainExit(dir_.path(), 0, &exit);
  EXPECT_EQ(exit.message, "stderr");
}

TEST_F(RankExitTest, AnUncaughtExceptionIsItsOwnReport) {
  dir_.Append("rank-0.err",
              "warming up\nTraceback (most recent call last):\n  File \"a\", line 1, in <module>\n"
              "ValueError: bad batch\n");
  protocol::RankExit exit;
  exit.exit_code = 1;
  ExplainExit(dir_.path(), 0, &exit);
  EXPECT_EQ(exit.message, "ValueError: bad batch");
  EXPECT_EQ(exit.traceback,
            "Traceback (most recent call last):\n  File \"a\", line 1, in <module>\n"
            "ValueError: bad batch");
  // The exception was caught: the program itself chose how to end.
  protocol::RankExit chosen;
  chosen.exit_code = 3;
  ExplainExit(dir_.path(), 0, &chosen);
  EXPECT_EQ(chosen.traceback, "");
}

TEST_F(RankExitTest, AnExceptionThatWasThereBeforeTheStopIsReported) {
  const auto ended = [&](int signal, bool after_stop) {
    protocol::RankExit exit{.signal = signal, .after_stop = after_stop};
    ExplainExit(dir_.path(), 0, &exit);
    return exit;
  };
  dir_.Append("rank-0.err",
              "[rank0]: Traceback (most recent call last):\n[rank0]:   File \"a\", line 1, in x\n"
              "[rank0]: ValueError: bad batch\n");
  EXPECT_EQ(ended(SIGTERM, true).message, "ValueError: bad batch");
  EXPECT_NE(ended(SIGTERM, true).traceback, "");
  EXPECT_EQ(ended(SIGTERM, false).traceback, "");
  EXPECT_EQ(ended(SIGSEGV, true).traceback, "");
  dir_.Append("rank-0.err", "retrying\n");
  EXPECT_EQ(ended(SIGTERM, true).traceback, "") << "it was caught";
}

TEST_F(RankExitTest, ATracebackIsDatedByItsFile) {
  dir_.Append("rank-0.err", "Traceback (most recent call last):\nValueError: bad batch\n");
  const absl::Time written = ForeignFileWritten(dir_.path() + "/rank-0.err");
  const auto before = [&](absl::Duration end, protocol::RankExit exit) {
    DateWords(dir_.path(), 0, written + end, &exit);
    return exit.words_before_end;
  };
  protocol::RankExit exit{.exit_code = 1, .traceback = "Traceback ..."};
  EXPECT_EQ(before(absl::Seconds(2), exit), absl::Seconds(2));
  EXPECT_EQ(before(absl::Seconds(6), exit), absl::ZeroDuration()) << "it went on for a while";
  EXPECT_EQ(before(absl::Seconds(-1), exit), absl::ZeroDuration()) << "the clock was set";
  exit.traceback.clear();
  EXPECT_EQ(before(absl::Seconds(2), exit), absl::ZeroDuration());
  exit = {.signal = SIGTERM, .after_stop = true, .traceback = "Traceback ..."};
  EXPECT_EQ(before(absl::Seconds(2), exit), absl::ZeroDuration()) << "that says nothing of its end";
}

TEST_F(RankExitTest, OfALauncherTheWordsOfItsProcessCount) {
  const std::string launcher =
      "E1128 23:51:07.1 7 torch/distributed/elastic/multiprocessing/api.py:984] failed (exitcode: "
      "2) "
      "local_rank: 0 (pid: 8) of binary: /usr/bin/python\n"
      "Traceback (most recent call last):\n  File \"run.py\", line 1, in <module>\n"
      "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n"
      "=====\ntrain.py FAILED\n=====\n";
  protocol::RankExit exit{.exit_code = 1};
  dir_.Append("rank-0.err", "train.py: error: unrecognized arguments: --local-rank=0\n" + launcher);
  ExplainExit(dir_.path(), 0, &exit);
  EXPECT_EQ(exit.message, "train.py: error: unrecognized arguments: --local-rank=0");
  dir_.Append("rank-1.err",
              "Traceback (most recent call last):\n  File \"a\", line 1, in <module>\n"
              "ValueError: bad batch\n" +
                  launcher);
  exit = {.exit_code = 1};
  ExplainExit(dir_.path(), 1, &exit);
  EXPECT_EQ(exit.message, "ValueError: bad batch");
}

TEST_F(RankExitTest, OfAcceleratesLauncherToo) {
  const std::string launcher =
      "Traceback (most recent call last):\n  File \"launch.py\", line 1, in <module>\n"
      "subprocess.CalledProcessError: Command '['python', 'train.py']' returned non-zero exit "
      "status 1.\n";
  protocol::RankExit exit{.exit_code = 1};
  dir_.Append("rank-0.err",
              "Traceback (most recent call last):\n  File \"a\", line 1, in <module>\n"
              "torch.distributed.DistNetworkError: Broken pipe\n" +
                  launcher);
  ExplainExit(dir_.path(), 0, &exit);
  EXPECT_EQ(exit.message, "torch.distributed.DistNetworkError: Broken pipe");
  exit = {.exit_code = 1};
  dir_.Append("rank-1.err", "train.py: error: unrecognized arguments: --lr\n" + launcher);
  ExplainExit(dir_.path(), 1, &exit);
  EXPECT_EQ(exit.message, "train.py: error: unrecognized arguments: --lr");
}

// What torch's launcher says when its process has ended with that code; -N: by signal N.
std::string WordsOfLauncher(int code) {
  return absl::StrCat(
      "E1128 23:51:07.1 7 torch/distributed/elastic/multiprocessing/api.py:984] failed (exitcode: ",
      code,
      ") local_rank: 0 (pid: 8) of binary: /usr/bin/python\n"
      "Traceback (most recent call last):\n  File \"run.py\", line 1, in <module>\n"
      "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n");
}

TEST_F(RankExitTest, OnlyALauncherSaysHowItsProcessEnded) {
  int32_t rank = 0;
  const auto told = [&](const std::string& said) {
    protocol::RankExit exit{.exit_code = 1};
    dir_.Append(absl::StrCat("rank-", rank, ".err"), said);
    ExplainExit(dir_.path(), rank++, &exit);
    return exit.message;
  };
  EXPECT_EQ(told("step 100\n" + WordsOfLauncher(-9)), "its process was killed by SIGKILL");
  EXPECT_EQ(told("step 100\n" + WordsOfLauncher(-11)), "its process was killed by SIGSEGV");
  EXPECT_EQ(told("terminate called: NCCL watchdog timed out\n" + WordsOfLauncher(-6)),
            "terminate called: NCCL watchdog timed out");
  EXPECT_EQ(told(WordsOfLauncher(-6)), "its process was killed by SIGABRT");
  EXPECT_EQ(told("W1128 23:51:06.1 7 torch/distributed/run.py:803] Setting OMP_NUM_THREADS\n" +
                 WordsOfLauncher(3)),
            "its process exited with code 3");
}

TEST_F(RankExitTest, ASuccessNeedsNoWords) {
  dir_.Append("rank-0.err", "a warning\n");
  protocol::RankExit exit;
  exit.exit_code = 0;
  ExplainExit(dir_.path(), 0, &exit);
  EXPECT_EQ(exit.message, "");
}

TEST(MemoryWordsTest, SayThatARankHadMuchOfTheMemory) {
  constexpr int64_t kGib = 1 << 20;  // in KiB
  EXPECT_EQ(MemoryWords(61 * kGib, 64 * kGib), "perhaps out of memory: it had 61 GiB of 64 GiB");
  EXPECT_EQ(MemoryWords(15 * kGib, 64 * kGib), "");
}

}  // namespace
}  // namespace hpc::worker
