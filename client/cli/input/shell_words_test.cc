#include "client/cli/input/shell_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/cli/input/usage_error.h"
#include "common/status_matchers.h"

namespace hpc::client {
namespace {

using ::testing::HasSubstr;

std::string Refused(const std::vector<std::string>& command) {
  const absl::Status status = CheckShellWords(command);
  EXPECT_TRUE(IsUsageError(status)) << status;
  return std::string(status.message());
}

TEST(ShellWordsTest, ALineForAShellIsGivenToOne) {
  EXPECT_THAT(Refused({"source env/bin/activate && python x.py"}),
              HasSubstr("hpcctl run -- bash -c 'source env/bin/activate && python x.py'"));
  EXPECT_THAT(Refused({"python x.py | tee log"}), HasSubstr("bash -c 'python x.py | tee log'"));
  EXPECT_THAT(Refused({"FOO=1 python x.py"}), HasSubstr("bash -c 'FOO=1 python x.py'"));
  EXPECT_THAT(Refused({"echo 'a' > b"}), HasSubstr("bash -c 'echo '\\''a'\\'' > b'"));
}

TEST(ShellWordsTest, AVariableIsAnOption) {
  EXPECT_THAT(Refused({"FOO=1", "B_2=", "python", "x.py"}),
              HasSubstr("'hpcctl run --env FOO=1 --env B_2= -- python x.py'"));
  EXPECT_THAT(Refused({"FOO=1"}), HasSubstr("--env FOO=1 -- python train.py"));
}

TEST(ShellWordsTest, AWordOfTheShellsIsNoProgram) {
  EXPECT_THAT(Refused({"cd", "/data"}), HasSubstr("bash -c 'cd /data && ...', or name the "
                                                  "directory with --workdir"));
  EXPECT_THAT(Refused({"source", "env"}), HasSubstr("bash -c 'source env && ...'"));
}

TEST(ShellWordsTest, ATildeInQuotesIsNoHome) {
  EXPECT_THAT(Refused({"~/train.py"}), HasSubstr("without quotes"));
}

TEST(ShellWordsTest, OtherCommandsAreLeftToTheirNode) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"python", "x.py", "a=b", "&&"},
        {"/opt/my programs/train"},
        {"python x.py"},
        {"./a=b"},
        {"=x"},
        {"1=2"},
        {"bash", "-c", "cd /data && ls"},
        {}}) {
    EXPECT_OK(CheckShellWords(command)) << ::testing::PrintToString(command);
  }
}

}  // namespace
}  // namespace hpc::client
