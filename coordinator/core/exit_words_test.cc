#include "coordinator/core/exit_words.h"

#include <gtest/gtest.h>

namespace hpc::coordinator {
namespace {

TEST(ExitWordsTest, CodeSignalAndTheFirstLineOfTheMessage) {
  RankExit exit;
  exit.exit_code = 1;
  EXPECT_EQ(ExitWords(exit), "exited with code 1");
  exit.message = "\n  RuntimeError: no GPU  \nat line 3\n";
  EXPECT_EQ(ExitWords(exit), "exited with code 1: RuntimeError: no GPU");
  EXPECT_EQ(ShellCode(exit), 1);
  exit.exit_code.reset();
  exit.signal = 6;
  exit.message.clear();
  EXPECT_EQ(ExitWords(exit), "was killed by SIGABRT");
  EXPECT_EQ(ShellCode(exit), 134);
  exit.signal = 44;
  EXPECT_EQ(ExitWords(exit), "was killed by signal 44");
}

}  // namespace
}  // namespace hpc::coordinator
