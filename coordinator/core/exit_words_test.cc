#include "coordinator/core/exit_words.h"

#include <gtest/gtest.h>

namespace hpc::coordinator {
namespace {

TEST(ExitWordsTest, CodeSignalAndTheTellingLineOfTheMessage) {
  RankExit exit;
  exit.exit_code = 1;
  EXPECT_EQ(ExitWords(exit), "exited with code 1");
  exit.message = "starting\n  no GPU here  \n\n";
  EXPECT_EQ(ExitWords(exit), "exited with code 1: no GPU here");
  EXPECT_EQ(ShellCode(exit), 1);
  exit.exit_code.reset();
  exit.signal = 6;
  exit.message.clear();
  EXPECT_EQ(ExitWords(exit), "was killed by SIGABRT");
  EXPECT_EQ(ShellCode(exit), 134);
  exit.signal = 44;
  EXPECT_EQ(ExitWords(exit), "was killed by signal 44");
}

TEST(ExitWordsTest, TheExceptionTellsMoreThanWhatIsPrintedAroundIt) {
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

}  // namespace
}  // namespace hpc::coordinator
