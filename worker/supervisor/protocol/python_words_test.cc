#include "worker/supervisor/protocol/python_words.h"

#include <gtest/gtest.h>

namespace hpc::worker {
namespace {

TEST(PythonWordsTest, AreThoseOfTheInterpreterWithWhatItRuns) {
  EXPECT_EQ(WordsOfPython({"python", "train.py", "--lr", "1"}), 2u);
  EXPECT_EQ(WordsOfPython({"python", "-u", "-W", "ignore", "-Xdev", "train.py", "-x"}), 6u);
  EXPECT_EQ(WordsOfPython({"python", "-uB", "-m", "pkg.train", "-u"}), 4u);
  EXPECT_EQ(WordsOfPython({"python", "-c", "print(1)", "a"}), 3u);
}

TEST(PythonWordsTest, ThereAreNoneWhereOurSitecustomizeMayNotRun) {
  for (const char* option : {"-I", "-E", "-S", "-uE", "-P", "-i", "--version", "-"}) {
    EXPECT_EQ(WordsOfPython({"python", option, "train.py"}), 0u) << option;
  }
  EXPECT_EQ(WordsOfPython({"python"}), 0u);
  EXPECT_EQ(WordsOfPython({"python", "-m"}), 0u);
  EXPECT_EQ(WordsOfPython({}), 0u);
}

}  // namespace
}  // namespace hpc::worker
