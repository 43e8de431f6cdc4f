#include "worker/attempts/former_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "common/files/files.h"
#include "common/status_matchers.h"
#include "worker/attempts/adoption.h"
#include "worker/attempts/attempt_files.h"

namespace hpc::worker {
namespace {

using ::testing::IsEmpty;

class FormerClusterTest : public ::testing::Test {
 protected:
  FormerClusterTest() : state_dir_(::testing::TempDir() + "former_cluster") {
    RemoveTree(state_dir_).IgnoreError();
    MakeDirs(state_dir_).IgnoreError();
  }
  ~FormerClusterTest() override { RemoveTree(state_dir_).IgnoreError(); }

  void LeaveCheckpoint(const std::string& text) {
    protocol::Prepare prepare;
    prepare.ref = {1, 1};
    prepare.ranks = 1;
    prepare.command = {"true"};
    ASSERT_OK(MakeAttemptFiles(state_dir_, prepare, nullptr));
    ASSERT_OK(WriteFileAtomically(RunDir(state_dir_, 1) + "/model.pt", text));
  }

  const std::string state_dir_;
};

TEST_F(FormerClusterTest, NoRunOfAnotherClusterFindsWhatItsRunsLeft) {
  LeaveCheckpoint("of the first");
  const auto aside = SetAsideFormerCluster(state_dir_, "c1");
  ASSERT_OK(aside);
  EXPECT_EQ(*aside, state_dir_ + "/runs-of-c1");
  EXPECT_EQ(ReadFile(*aside + "/1/model.pt").value_or(""), "of the first");
  EXPECT_NE(access(RunDir(state_dir_, 1).c_str(), F_OK), 0);
  EXPECT_THAT(FindAttempts(state_dir_), IsEmpty());
}

TEST_F(FormerClusterTest, WhatWasSetAsideBeforeStays) {
  LeaveCheckpoint("one");
  ASSERT_OK(SetAsideFormerCluster(state_dir_, "c1"));
  LeaveCheckpoint("two");
  const auto aside = SetAsideFormerCluster(state_dir_, "c1");
  ASSERT_OK(aside);
  EXPECT_EQ(ReadFile(*aside + "/1/model.pt").value_or(""), "two");
  EXPECT_EQ(ReadFile(state_dir_ + "/runs-of-c1/1/model.pt").value_or(""), "one");
}

TEST_F(FormerClusterTest, WhereNoRunHasLeftAnythingNothingIsSetAside) {
  EXPECT_EQ(SetAsideFormerCluster(state_dir_, "c1").value_or("failed"), "");
  ASSERT_OK(MakeDirs(state_dir_ + "/runs"));
  EXPECT_EQ(SetAsideFormerCluster(state_dir_, "c1").value_or("failed"), "");
}

}  // namespace
}  // namespace hpc::worker
