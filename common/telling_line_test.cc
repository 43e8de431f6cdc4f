#include "common/telling_line.h"

#include <gtest/gtest.h>

#include <string>

namespace hpc {
namespace {

TEST(TellingLineTest, TheExceptionTellsMoreThanWhatIsPrintedAroundIt) {
  EXPECT_EQ(
      TellingLine("[rank1]: Traceback (most recent call last):\n"
                  "[rank1]:   File \"train.py\", line 3, in <module>\n"
                  "[rank1]: ValueError: bad batch 17\n"
                  "[rank1]:[W1121 socket.cpp:1] Warning: destroy_process_group() was not called\n"),
      "ValueError: bad batch 17");
  EXPECT_EQ(TellingLine("torch.cuda.OutOfMemoryError: CUDA out of memory\n"),
            "torch.cuda.OutOfMemoryError: CUDA out of memory");
  EXPECT_EQ(TellingLine("KeyboardInterrupt"), "KeyboardInterrupt");
  EXPECT_EQ(TellingLine(" \n"), "");
}

TEST(TellingLineTest, ALaunchersExceptionTellsLessThanThatOfItsProcess) {
  EXPECT_EQ(TellingLine("ValueError: bad batch 17\n"
                        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
                        "====\n"),
            "ValueError: bad batch 17");
  EXPECT_EQ(TellingLine("ValueError: bad batch 17\n"
                        "subprocess.CalledProcessError: Command '['python', 'train.py']' returned "
                        "non-zero exit status 1.\n"),
            "ValueError: bad batch 17");
  const char* killed = "subprocess.CalledProcessError: Command 'x' died with <Signals.SIGKILL: 9>.";
  EXPECT_EQ(TellingLine(std::string("ValueError: caught\n") + killed), killed);
}

TEST(TellingLineTest, ANoteOfTheSupervisorIsNoWordOfTheProgram) {
  const char* note =
      "[hpcctl: 80 bytes of output are missing here: the disk of this PC was full]\n";
  EXPECT_EQ(TellingLine(note), "");
  EXPECT_EQ(TellingLine(std::string("cannot read\n") + note), "cannot read");
}

TEST(TellingLineTest, WhatTorchLogsInPassingTellsNothing) {
  EXPECT_EQ(TellingLine("[W1127 20:11:05.123456789 socket.cpp:752] [c10d] The client socket cannot "
                        "be initialized to connect to [pc1]:29500\n"),
            "");
  EXPECT_EQ(TellingLine("[W socket.cpp:436] [c10d] The server socket has failed to bind\n"), "");
  EXPECT_EQ(TellingLine("[I1127 20:11:05.1 ProcessGroupNCCL.cpp:852] initialized\n"), "");
  EXPECT_EQ(TellingLine("[rank1]:[W1121 20:11:05.1 a/b.cpp:1250] [x]: was not called\n"), "");
  EXPECT_EQ(TellingLine("W1127 20:11:05.123000 4711 torch/distributed/run.py:792] \n"), "");
  EXPECT_EQ(TellingLine("no GPU here\n[W socket.cpp:436] [c10d] retrying\n"), "no GPU here");
}

TEST(TellingLineTest, WhatTorchLogsAsAnErrorTells) {
  EXPECT_EQ(TellingLine("[rank1]:[E1127 20:11:05.1 ProcessGroupNCCL.cpp:616] watchdog timed out\n"
                        "[W1127 20:11:06.1 socket.cpp:752] [c10d] retrying\n"),
            "[E1127 20:11:05.1 ProcessGroupNCCL.cpp:616] watchdog timed out");
  EXPECT_EQ(TellingLine("[F socket.cpp:1] fatal"), "[F socket.cpp:1] fatal");
}

TEST(TellingLineTest, WhatOnlyLooksLikeALogTells) {
  for (const char* line : {"[W1] is not positive definite", "[What a mess]", "[W", "W", "[I ]",
                           "Ich kann nicht mehr:1]", "[W file:x] odd", "[rankle]: hm"}) {
    EXPECT_EQ(TellingLine(line), line);
  }
}

TEST(TellingLineTest, AWarningOfPythonTellsNothingNorDoesItsSource) {
  EXPECT_EQ(TellingLine("/venv/torch/nn.py:12: UserWarning: lr_scheduler before optimizer\n"
                        "  warnings.warn(\n"),
            "");
  EXPECT_EQ(TellingLine("t.py:19: UserWarning: Converting a tensor may lose something.\n"
                        "Consider using tensor.detach() first.\n  log(loss=float(loss))\n"),
            "");
  EXPECT_EQ(TellingLine("sys:1: torch.jit.TracerWarning:\n"), "");
  EXPECT_EQ(TellingLine("no GPU here\na b.py:3: FutureWarning: old\n  load(path)\n"),
            "no GPU here");
  EXPECT_EQ(TellingLine("a.py:3: FutureWarning: old\n  load(path)\n  no GPU here\n"),
            "no GPU here");
  EXPECT_EQ(TellingLine("a.py:3: FutureWarning: old\nno GPU here\n"), "no GPU here");
}

TEST(TellingLineTest, ARemarkOnAPlaceIsAWarningUnlessItIsAnException) {
  EXPECT_EQ(TellingLine("/venv/_pytree.py:21: `isinstance` is deprecated, use another\n"), "");
  EXPECT_EQ(TellingLine("test_a.py:21: AssertionError\n"), "test_a.py:21: AssertionError");
  EXPECT_EQ(TellingLine("cannot open a.py:21: gone\n"), "cannot open a.py:21: gone");
}

TEST(TellingLineTest, AWarningThatPythonRaisedTells) {
  EXPECT_EQ(TellingLine("    raise UserWarning(\"x\")\nUserWarning: x\n"), "UserWarning: x");
  EXPECT_EQ(TellingLine("gave up: Warning: low disk"), "gave up: Warning: low disk");
}

TEST(TellingLineTest, AProgressBarsLastStateIsALine) {
  EXPECT_EQ(TellingLine("\r10%\r20%\rout of disk"), "out of disk");
}

}  // namespace
}  // namespace hpc
