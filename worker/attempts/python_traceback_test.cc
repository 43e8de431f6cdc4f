#include "worker/attempts/python_traceback.h"

#include <gtest/gtest.h>

#include <string>

namespace hpc::worker {
namespace {

constexpr char kFrames[] =
    "Traceback (most recent call last):\n"
    "  File \"train.py\", line 3, in <module>\n"
    "    raise ValueError(\"bad batch 17\")\n";

TEST(PythonTracebackTest, IsWhatPythonPrintsOfAnUncaughtException) {
  const auto report =
      FindTraceback(std::string("epoch 1\n") + kFrames + "ValueError: bad batch 17\n");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->message, "ValueError: bad batch 17");
  EXPECT_EQ(report->traceback, std::string(kFrames) + "ValueError: bad batch 17");
}

TEST(PythonTracebackTest, LosesTorchsRankBeforeEachLine) {
  const auto report = FindTraceback(
      "[rank1]: Traceback (most recent call last):\n"
      "[rank1]:   File \"train.py\", line 3, in <module>\n"
      "[rank1]: RuntimeError: CUDA error: out of memory\n"
      "[rank1]: CUDA kernel errors might be reported later.\n"
      "[rank1]:[W1121 socket.cpp:1] Warning: destroy_process_group() was not called\n");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->message, "RuntimeError: CUDA error: out of memory");
  EXPECT_EQ(report->traceback,
            "Traceback (most recent call last):\n"
            "  File \"train.py\", line 3, in <module>\n"
            "RuntimeError: CUDA error: out of memory\n"
            "CUDA kernel errors might be reported later.");
}

TEST(PythonTracebackTest, KeepsWhatLedToTheException) {
  const std::string first = std::string(kFrames) + "KeyError: 'x'\n\n";
  const std::string rest = std::string(
                               "During handling of the above exception, another exception "
                               "occurred:\n\n") +
                           kFrames + "SystemError: y";
  const auto report = FindTraceback("an older one\n" + first + rest + "\n");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->message, "SystemError: y");
  EXPECT_EQ(report->traceback, first + rest);
}

TEST(PythonTracebackTest, TheLastOneCounts) {
  const auto report = FindTraceback(std::string(kFrames) + "ValueError: logged\n\nretrying\n" +
                                    kFrames + "ValueError: fatal\n");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->message, "ValueError: fatal");
}

TEST(PythonTracebackTest, TheLaunchersOwnTellsLessThanThatOfItsProcess) {
  const std::string launcher =
      "Traceback (most recent call last):\n"
      "  File \"/usr/bin/torchrun\", line 8, in <module>\n"
      "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
      "============================================================\n";
  const auto report = FindTraceback(std::string(kFrames) + "ValueError: bad batch 17\n" + launcher);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->message, "ValueError: bad batch 17");
  EXPECT_EQ(FindTraceback(launcher)->message,
            "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:");
}

TEST(PythonTracebackTest, AnIgnoredExceptionEndsNothing) {
  const auto report =
      FindTraceback(std::string(kFrames) + "ValueError: fatal\nException ignored in: <x>\n" +
                    kFrames + "TypeError: at exit\n");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->message, "ValueError: fatal");
}

TEST(PythonTracebackTest, AProgressBarMayStandInFrontOfIt) {
  const std::string traceback = std::string(kFrames) + "ValueError: bad batch 17";
  for (const char* bar : {"\r  2%|##   | 2/100 [00:02<00:10,  9.67it/s]", "\rstep 2 of 100 ",
                          "\r100%|#| 9/9 [00:02<00:00]\r  0%| | 0/9 [00:00<?, ?it/s][rank0]: "}) {
    const auto report = FindTraceback(bar + traceback + "\n");
    ASSERT_TRUE(report) << bar;
    EXPECT_EQ(report->message, "ValueError: bad batch 17");
    EXPECT_EQ(report->traceback, traceback);
  }
}

TEST(PythonTracebackTest, OfAGroupItsOwnWordsAreTaken) {
  const std::string group =
      "  + Exception Group Traceback (most recent call last):\n"
      "  |   File \"train.py\", line 1, in <module>\n"
      "  |     raise ExceptionGroup(\"two losses are bad\", errors)\n"
      "  | ExceptionGroup: two losses are bad (1 sub-exception)\n"
      "  +-+---------------- 1 ----------------\n"
      "    | Traceback (most recent call last):\n"
      "    |   File \"train.py\", line 9, in loss\n"
      "    | ValueError: it is not a number\n"
      "    +------------------------------------";
  const auto report = FindTraceback("epoch 1\n" + group + "\n");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->message, "ExceptionGroup: two losses are bad (1 sub-exception)");
  EXPECT_EQ(report->traceback, group);
}

TEST(PythonTracebackTest, HalfATracebackIsNone) {
  EXPECT_FALSE(FindTraceback(""));
  EXPECT_FALSE(FindTraceback("ValueError: without a traceback\n"));
  EXPECT_FALSE(FindTraceback(kFrames));
  EXPECT_FALSE(FindTraceback("Traceback (most recent call last):\nand then something else\n"));
}

}  // namespace
}  // namespace hpc::worker
