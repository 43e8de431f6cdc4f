#include "coordinator/core/values/exit_words.h"

#include <gtest/gtest.h>

namespace hpc::coordinator {
namespace {

TEST(ExitWordsTest, CodeSignalAndTheTellingLineOfTheMessage) {
  protocol::RankExit exit;
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
  exit.signal = 15;
  exit.message = "words of long ago";
  EXPECT_EQ(ExitWords(exit), "was killed by SIGTERM: words of long ago");
  exit.message = "[W socket.cpp:755] a warning of long ago";
  EXPECT_EQ(ExitWords(exit), "was killed by SIGTERM");
  exit.message = "words of long ago";
  exit.after_stop = true;
  EXPECT_EQ(ExitWords(exit), "was killed by SIGTERM");
  exit.signal = 44;
  EXPECT_EQ(ExitWords(exit), "was killed by signal 44");
}

}  // namespace
}  // namespace hpc::coordinator
