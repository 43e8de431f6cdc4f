// A run that starts again keeps its place: younger runs do not get what its attempt has given back.
// One that succeeds says what its ranks have left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"
#include "coordinator/core/testing/cluster_tester.h"

namespace hpc::coordinator::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A gang on pc1 and pc2, and behind it a run that could use either of them.
class RequeuedTest : public ::testing::Test {
 protected:
  void Begin(RunRequest request) {
    c.Join({"pc1", "pc2"});
    gang = c.Submit(request);
    c.Run(gang);
    young = c.Submit(Nodes(1));
    ASSERT_EQ(c.state(young), RunState::kQueued);
  }
  // The gang's program fails, and both nodes return their devices.
  void Fail() {
    ASSERT_OK(c.Exit(gang, 0, 1));
    ASSERT_OK(c.Returned(gang, "pc1"));
    ASSERT_OK(c.Returned(gang, "pc2"));
  }

  ClusterTester c;
  RunId gang = 0, young = 0;
};

TEST_F(RequeuedTest, AGangThatLosesANodeIsNotPassedWhileItsLastRanksEnd) {
  Begin(Nodes(2));
  ASSERT_OK(c.Reclaim("pc2", absl::Minutes(1)));
  ASSERT_OK(c.Returned(gang, "pc1"));
  EXPECT_EQ(c.state(young), RunState::kQueued);
  EXPECT_THAT(c.Wait(young), HasSubstr("1st in the queue, behind run 1 which needs 2 nodes"));
  ASSERT_OK(c.Returned(gang, "pc2"));
  EXPECT_EQ(c.state(gang), RunState::kQueued);
  EXPECT_EQ(c.state(young), RunState::kQueued);
  ASSERT_OK(c.Lend("pc2"));
  EXPECT_THAT(c.nodes_of(gang), ElementsAre("pc1", "pc2"));
  EXPECT_EQ(c.record(gang).attempts, 2);
}

TEST_F(RequeuedTest, ARunInItsBackOffIsNotPassed) {
  RunRequest request = Nodes(2);
  request.max_restarts = 1;
  Begin(request);
  Fail();
  EXPECT_THAT(c.Wait(gang), HasSubstr("starts again in 1 s"));
  c.Pass(absl::Milliseconds(900));
  EXPECT_EQ(c.state(young), RunState::kQueued);
  c.Pass(absl::Milliseconds(100));
  EXPECT_EQ(c.record(gang).attempts, 2);
  c.Run(gang);
  c.Finish(gang);
  EXPECT_EQ(c.state(young), RunState::kStarting);
}

TEST_F(RequeuedTest, WhatItCouldNotUseIsNotKept) {
  RunRequest request = Nodes(1);
  request.node_list = {"pc1"};
  request.max_restarts = 1;
  c.Join({"pc1"});
  gang = c.Submit(request);
  c.Run(gang);
  young = c.Submit(Nodes(1));
  ASSERT_OK(c.Exit(gang, 0, 1));
  ASSERT_OK(c.Returned(gang, "pc1"));
  EXPECT_EQ(c.state(young), RunState::kQueued);
  c.Join({"pc2"});
  EXPECT_THAT(c.nodes_of(young), ElementsAre("pc2"));
}

TEST_F(RequeuedTest, WhatStartsNoMoreKeepsNothing) {
  Begin(Nodes(2));
  ASSERT_OK(c.Exit(gang, 0, 1));
  ASSERT_OK(c.Returned(gang, "pc1"));
  EXPECT_THAT(c.nodes_of(young), ElementsAre("pc1"));
}

TEST_F(RequeuedTest, ACancelInTheBackOffLetsOthersStart) {
  RunRequest request = Nodes(2);
  request.max_restarts = 1;
  Begin(request);
  Fail();
  ASSERT_OK(c.Cancel(gang));
  EXPECT_EQ(c.state(young), RunState::kStarting);
}

TEST_F(RequeuedTest, ACancelWhileItsLastRanksEndLetsOthersStart) {
  Begin(Nodes(2));
  ASSERT_OK(c.Reclaim("pc2", absl::Minutes(1)));
  ASSERT_OK(c.Returned(gang, "pc1"));
  EXPECT_EQ(c.state(young), RunState::kQueued);
  ASSERT_OK(c.Cancel(gang));
  EXPECT_THAT(c.nodes_of(young), ElementsAre("pc1"));
}

TEST_F(RequeuedTest, AnOlderRunStillGoesFirst) {
  c.Join({"pc1"});
  const RunId first = c.Submit(Nodes(1));
  RunRequest request = Nodes(1);
  request.priority = -1;
  request.max_restarts = 1;
  const RunId low = c.Submit(request);
  c.Run(first);
  c.Join({"pc2"});
  c.Run(low);
  const RunId young_first = c.Submit(Nodes(1));
  ASSERT_OK(c.Exit(low, 0, 1));
  ASSERT_OK(c.Returned(low, "pc2"));
  EXPECT_THAT(c.nodes_of(young_first), ElementsAre("pc2"));
}

// A script may end with "nohup python train.py &".
TEST(EndingTest, WhatASuccessfulRunLeftRunningIsSaid) {
  ClusterTester c;
  c.Join({"pc1"});
  const RunId run = c.Submit(Nodes(1));
  c.Run(run);
  ASSERT_OK(c.Exit(run, 0, 0));
  ASSERT_OK(c.Report("pc1", protocol::AttemptReturned{{run, 1}, {}, /*killed=*/2}));
  EXPECT_EQ(c.record(run).reason,
            "its rank exited 0 after 0 us; 2 processes left running behind it were killed (let a "
            "script 'wait' for what it starts with '&')");
}

}  // namespace
}  // namespace hpc::coordinator::testing
