#include "coordinator/runtime/secret_vault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "common/files/files.h"
#include "common/status_matchers.h"
#include "coordinator/store/testing/records.h"

namespace hpc::coordinator {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using testing::TempDir;

RunProgram ProgramWith(std::vector<std::pair<std::string, std::string>> env,
                       std::vector<std::string> unstored = {}) {
  RunProgram program;
  program.env = std::move(env);
  program.unstored_env = std::move(unstored);
  return program;
}

class SecretVaultTest : public ::testing::Test {
 protected:
  SecretVault Open(const std::set<RunId>& live) {
    auto vault = SecretVault::Open(folder_, live);
    EXPECT_OK(vault);
    return *std::move(vault);
  }
  std::string FileOf(RunId run) const {
    return ReadFile(folder_ + "/" + std::to_string(run)).value_or("no file");
  }

  TempDir dir_;
  std::string folder_ = dir_.File("secrets");
};

TEST_F(SecretVaultTest, SecretsAreHiddenAndComeBack) {
  SecretVault vault = Open({});
  RunProgram program = ProgramWith({{"A", "1"}, {"HF_TOKEN", "hf_123"}, {"B", "2"}}, {"B"});
  ASSERT_OK(vault.Hide(5, &program));
  EXPECT_THAT(program.env,
              ElementsAre(Pair("A", "1"), Pair("HF_TOKEN", "(hidden)"), Pair("B", "(hidden)")));
  EXPECT_TRUE(HasHiddenValues(program));
  ASSERT_OK(vault.Reveal(5, &program));
  EXPECT_THAT(program.env, ElementsAre(Pair("A", "1"), Pair("HF_TOKEN", "hf_123"), Pair("B", "2")));
}

TEST_F(SecretVaultTest, ARunWithoutSecretsLeavesNoFile) {
  SecretVault vault = Open({});
  RunProgram program = ProgramWith({{"A", "1"}});
  ASSERT_OK(vault.Hide(5, &program));
  EXPECT_EQ(FileOf(5), "no file");
  EXPECT_FALSE(HasHiddenValues(program));
}

TEST_F(SecretVaultTest, AValueThatReadsLikeAHiddenOneIsAValue) {
  SecretVault vault = Open({});
  RunProgram program = ProgramWith({{"A", "(hidden)"}});
  ASSERT_OK(vault.Hide(5, &program));
  ASSERT_OK(vault.Reveal(5, &program));
  EXPECT_THAT(program.env, ElementsAre(Pair("A", "(hidden)")));
}

TEST_F(SecretVaultTest, OnlyItsOwnerMayReadTheFiles) {
  SecretVault vault = Open({});
  RunProgram program = ProgramWith({{"HF_TOKEN", "hf_123"}});
  ASSERT_OK(vault.Hide(5, &program));
  struct stat file, folder;
  ASSERT_EQ(stat((folder_ + "/5").c_str(), &file), 0);
  ASSERT_EQ(stat(folder_.c_str(), &folder), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
  EXPECT_EQ(folder.st_mode & 0777, 0700u);
}

TEST_F(SecretVaultTest, ARestartKeepsWhatMayBeStored) {
  RunProgram program = ProgramWith({{"HF_TOKEN", "hf_123"}});
  ASSERT_OK(Open({}).Hide(5, &program));
  ASSERT_OK(Open({5}).Reveal(5, &program));
  EXPECT_THAT(program.env, ElementsAre(Pair("HF_TOKEN", "hf_123")));
}

TEST_F(SecretVaultTest, WhatMustNotBeStoredIsLostWithARestart) {
  RunProgram program = ProgramWith({{"HF_TOKEN", "hf_123"}}, {"HF_TOKEN"});
  ASSERT_OK(Open({}).Hide(5, &program));
  EXPECT_THAT(FileOf(5), Not(HasSubstr("hf_123")));
  EXPECT_THAT(Open({5}).Reveal(5, &program),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("does not know the value of HF_TOKEN any more")));
}

TEST_F(SecretVaultTest, TheFileGoesWithTheRun) {
  SecretVault vault = Open({});
  RunProgram program = ProgramWith({{"HF_TOKEN", "hf_123"}});
  ASSERT_OK(vault.Hide(5, &program));
  ASSERT_OK(vault.Hide(6, &program));
  vault.Drop(5);
  EXPECT_EQ(FileOf(5), "no file");
  EXPECT_FALSE(vault.Reveal(5, &program).ok());
  // The run ended while the coordinator was down.
  Open({});
  EXPECT_EQ(FileOf(6), "no file");
}

TEST_F(SecretVaultTest, ADamagedFileIsAsGoodAsNone) {
  RunProgram program = ProgramWith({{"HF_TOKEN", "hf_123"}});
  ASSERT_OK(Open({}).Hide(5, &program));
  ASSERT_OK(WriteFileAtomically(folder_ + "/5", "{\"HF_TOK"));
  EXPECT_FALSE(Open({5}).Reveal(5, &program).ok());
}

}  // namespace
}  // namespace hpc::coordinator
