#include "client/cli/input/code_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "client/cli/input/caller.h"

namespace hpc::client {
namespace {

using ::testing::HasSubstr;

TEST(MakeCodeStateTest, ReadsGitsThreeLines) {
  const v1::CodeState state = MakeCodeState("/home/ada\nc0ffee\nmain\n", "", true);
  EXPECT_EQ(state.repository(), "/home/ada");
  EXPECT_EQ(state.commit(), "c0ffee");
  EXPECT_EQ(state.branch(), "main");
  EXPECT_FALSE(state.dirty());
  EXPECT_FALSE(state.diff_cut());
}

TEST(MakeCodeStateTest, ADetachedHeadHasNoBranch) {
  EXPECT_EQ(MakeCodeState("/r\nc0ffee\nHEAD\n", "", true).branch(), "");
}

TEST(MakeCodeStateTest, ARepositoryWithoutCommitsHasNone) {
  const v1::CodeState state = MakeCodeState("/r\nHEAD\n", "", true);
  EXPECT_EQ(state.repository(), "/r");
  EXPECT_EQ(state.commit(), "");
}

TEST(MakeCodeStateTest, OutsideARepositoryThereIsNothing) {
  EXPECT_EQ(MakeCodeState("", "", true).ByteSizeLong(), 0u);
}

TEST(MakeCodeStateTest, ALongDifferenceIsCutAtACharacter) {
  const v1::CodeState state =
      MakeCodeState("/r\nc\nb\n", std::string(kMaxDiffBytes - 1, 'x') + "ü", true);
  EXPECT_EQ(state.diff().size(), kMaxDiffBytes - 1);
  EXPECT_TRUE(state.diff_cut());
  EXPECT_TRUE(state.dirty());
}

TEST(MakeCodeStateTest, WhatGitCouldNotFinishIsMarked) {
  EXPECT_TRUE(MakeCodeState("/r\nc\nb\n", "", false).diff_cut());
}

TEST(MakeCodeStateTest, TheDifferenceIsText) {
  EXPECT_EQ(MakeCodeState("/r\nc\nb\n", "a\xff", true).diff(), "a\xEF\xBF\xBD");
}

class CodeStateReaderTest : public ::testing::Test {
 protected:
  CodeStateReaderTest() {
    char name[] = "/tmp/code_state_test.XXXXXX";
    dir_ = mkdtemp(name);
  }
  ~CodeStateReaderTest() override { Shell("rm -rf " + dir_); }

  static void Shell(const std::string& command) {
    ASSERT_EQ(std::system(("(" + command + ") >/dev/null 2>&1").c_str()), 0) << command;
  }

  std::string dir_;
};

TEST_F(CodeStateReaderTest, ReadsBranchCommitAndChangesFromASubfolder) {
  Shell("cd " + dir_ +
        " && git init -q -b work && mkdir sub && echo one > sub/f && git add -A && git -c "
        "user.name=t -c user.email=t@example.org commit -q -m x && echo two > sub/f");
  const v1::CodeState state = CodeStateReader(dir_ + "/sub").Finish(absl::Seconds(20));
  EXPECT_EQ(state.repository(), dir_);
  EXPECT_EQ(state.commit().size(), 40u);
  EXPECT_EQ(state.branch(), "work");
  EXPECT_TRUE(state.dirty());
  EXPECT_FALSE(state.diff_cut());
  EXPECT_THAT(state.diff(), HasSubstr("-one\n+two\n"));
}

TEST_F(CodeStateReaderTest, DoesNothingOutsideARepository) {
  EXPECT_EQ(CodeStateReader(dir_).Finish(absl::Seconds(20)).repository(), "");
}

TEST_F(CodeStateReaderTest, DoesNotWaitBeyondItsTime) {
  Shell("cd " + dir_ + " && git init -q");
  EXPECT_EQ(CodeStateReader(dir_).Finish(absl::ZeroDuration()).diff(), "");
}

TEST_F(CodeStateReaderTest, TheLogicalDirectoryKeepsSymbolicLinks) {
  Shell("cd " + dir_ + " && mkdir real && ln -s real link");
  ASSERT_EQ(chdir((dir_ + "/link").c_str()), 0);
  EXPECT_EQ(LogicalWorkdir((dir_ + "/link").c_str()), dir_ + "/link");
  EXPECT_EQ(LogicalWorkdir("/"), dir_ + "/real");
  EXPECT_EQ(LogicalWorkdir("link"), dir_ + "/real");
  EXPECT_EQ(LogicalWorkdir(nullptr), dir_ + "/real");
  ASSERT_EQ(chdir("/"), 0);
}

}  // namespace
}  // namespace hpc::client
