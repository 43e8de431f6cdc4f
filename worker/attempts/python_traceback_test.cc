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

TEST(PythonTracebackTest, HalfATracebackIsNone) {
  EXPECT_FALSE(FindTraceback(""));
  EXPECT_FALSE(FindTraceback("ValueError: without a traceback\n"));
  EXPECT_FALSE(FindTraceback(kFrames));
  EXPECT_FALSE(FindTraceback("Traceback (most recent call last):\nand then something else\n"));
}

}  // namespace
}  // namespace hpc::worker
