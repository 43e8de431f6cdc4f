// What is said of checkpoints that one of a run's nodes has and another has not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"
#include "coordinator/core/testing/cluster_tester.h"

namespace hpc::coordinator::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(CheckpointsTest, WhatOneNodeLacksOfTheCheckpointsIsSaidBeforeItGoesOn) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  RunRequest request = Nodes(2);
  request.max_restarts = 1;
  const RunId run = c.Submit(request);
  c.Run(run);
  ASSERT_OK(c.Exit(run, 1, 1));
  c.AllReturned(run);
  c.Pass(absl::Seconds(10));
  c.TakeEvents();
  ASSERT_OK(c.Prepared(run, "pc1", absl::OkStatus(), {{"last.ckpt"}}));
  ASSERT_OK(c.Prepared(run, "pc2"));
  EXPECT_THAT(c.TakeEvents("run.checkpoints"),
              ElementsAre(StartsWith("run.checkpoints in $HPC_CHECKPOINT_DIR, last.ckpt is on pc1 "
                                     "and not on pc2: ")));
}

TEST(CheckpointsTest, ARunThatMovesSaysThatItsCheckpointsStay) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  const RunId run = c.Submit(Nodes(1));
  c.Run(run);
  const std::string before = c.attempt(run).placement_reason;
  EXPECT_THAT(before, Not(HasSubstr("stays there")));
  ASSERT_OK(c.Reclaim("pc1"));
  c.AllReturned(run);
  EXPECT_THAT(c.attempt(run).placement_reason,
              HasSubstr("; what it has saved in $HPC_CHECKPOINT_DIR on pc1, if anything, stays "
                        "there"));
}

TEST(CheckpointsTest, ARunThatLosesOneOfItsNodesSaysThatItsCheckpointsStayThere) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  const RunId run = c.Submit(Nodes(2));
  c.Run(run);
  c.Join({"pc3"});
  ASSERT_OK(c.Reclaim("pc1"));
  c.AllReturned(run);
  EXPECT_THAT(c.attempt(run).placement_reason, HasSubstr("$HPC_CHECKPOINT_DIR on pc1, if"));
}

}  // namespace
}  // namespace hpc::coordinator::testing
