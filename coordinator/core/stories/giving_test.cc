// An elastic run gives nodes to a waiting run of higher priority, and goes on with the others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"
#include "coordinator/core/testing/cluster_tester.h"

namespace hpc::coordinator::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

RunRequest Urgent(int nodes) {
  RunRequest request = Nodes(nodes);
  request.priority = 5;
  return request;
}

// A gang that may have one to four nodes runs on pc1, pc2 and pc3.
class GiveTest : public ::testing::Test {
 protected:
  void Start(GrowMode mode, int min_nodes = 1) {
    c_.Join({"pc1", "pc2", "pc3"});
    RunRequest request = Nodes(min_nodes, 4);
    request.grow = mode;
    elastic_ = c_.Submit(request);
    c_.Pass(absl::Seconds(3));
    c_.Run(elastic_);
    c_.Pass(absl::Minutes(1));
    c_.TakeEvents();
    c_.TakeMessages();
  }
  void Checkpoint() { EXPECT_OK(c_.Report("pc1", protocol::CheckpointSaved{c_.ref(elastic_)})); }

  ClusterTester c_;
  RunId elastic_ = 0;
};

TEST_F(GiveTest, AtItsNextCheckpointItGivesWhatTheOtherNeeds) {
  Start(GrowMode::kCheckpoint);
  const RunId urgent = c_.Submit(Urgent(1));
  EXPECT_EQ(c_.state(elastic_), RunState::kRunning);
  EXPECT_EQ(c_.Wait(elastic_),
            "gives pc3 to run 2, whose priority is higher, at the next checkpoint that it tells "
            "of");
  EXPECT_THAT(c_.Wait(urgent),
              HasSubstr("pc3 is used by run 1, which gives it at its next checkpoint"));
  Checkpoint();
  EXPECT_EQ(c_.state(elastic_), RunState::kStopping);
  c_.AllReturned(elastic_);
  EXPECT_THAT(c_.nodes_of(urgent), ElementsAre("pc3"));
  EXPECT_THAT(c_.nodes_of(elastic_), ElementsAre("pc1", "pc2"));
  EXPECT_EQ(c_.state(elastic_), RunState::kStarting);
  const std::vector<std::string> events = c_.TakeEvents("run.");
  EXPECT_THAT(events, Contains(HasSubstr("run.gives gives pc3 to run 2")));
  EXPECT_THAT(events, Contains("run.stopping gives pc3 to run 2"));
  EXPECT_THAT(events, Contains("run.requeued gives pc3 to run 2; costs nothing"));
}

TEST_F(GiveTest, ItCostsNoBudget) {
  Start(GrowMode::kNow);
  c_.Submit(Urgent(1));
  c_.AllReturned(elastic_);
  EXPECT_EQ(c_.record(elastic_).failures, 0);
  EXPECT_EQ(c_.record(elastic_).losses, 0);
  EXPECT_EQ(c_.record(elastic_).attempts, 2);
}

TEST_F(GiveTest, NowIsAsSoonAsTheOtherWaits) {
  Start(GrowMode::kNow);
  const RunId urgent = c_.Submit(Urgent(2));
  EXPECT_EQ(c_.state(elastic_), RunState::kStopping);
  c_.AllReturned(elastic_);
  EXPECT_THAT(c_.nodes_of(urgent), ElementsAre("pc2", "pc3"));
  EXPECT_THAT(c_.nodes_of(elastic_), ElementsAre("pc1"));
}

TEST_F(GiveTest, NeverGivesNothing) {
  Start(GrowMode::kNever);
  c_.Submit(Urgent(1));
  Checkpoint();
  EXPECT_EQ(c_.state(elastic_), RunState::kRunning);
}

TEST_F(GiveTest, ItKeepsWhatItMustHave) {
  Start(GrowMode::kNow, /*min_nodes=*/2);
  c_.Submit(Urgent(2));
  EXPECT_EQ(c_.state(elastic_), RunState::kRunning);
  EXPECT_THAT(c_.TakeEvents("run.gives"), IsEmpty());
}

TEST_F(GiveTest, ARunOfTheSamePriorityWaits) {
  Start(GrowMode::kNow);
  c_.Submit(Nodes(1));
  EXPECT_EQ(c_.state(elastic_), RunState::kRunning);
}

TEST_F(GiveTest, ARunThatCouldHaveEverythingGetsOnlyWhatIsGiven) {
  Start(GrowMode::kNow);
  RunRequest request = Nodes(1, 3);
  request.priority = 5;
  const RunId urgent = c_.Submit(request);
  c_.AllReturned(elastic_);
  EXPECT_THAT(c_.nodes_of(elastic_), ElementsAre("pc1", "pc2"));
  c_.Pass(absl::Seconds(3));
  EXPECT_THAT(c_.nodes_of(urgent), ElementsAre("pc3"));
}

TEST_F(GiveTest, NobodyTakesWhatItKeepsWhileItsRanksEnd) {
  Start(GrowMode::kNow);
  c_.Submit(Urgent(1));
  const RunId other = c_.Submit(Urgent(1));
  ASSERT_OK(c_.Returned(elastic_, "pc1"));
  EXPECT_EQ(c_.state(other), RunState::kQueued);
  ASSERT_OK(c_.Returned(elastic_, "pc2"));
  ASSERT_OK(c_.Returned(elastic_, "pc3"));
  EXPECT_THAT(c_.nodes_of(elastic_), ElementsAre("pc1", "pc2"));
  EXPECT_EQ(c_.state(other), RunState::kQueued);
}

TEST_F(GiveTest, OnceItHasStartedItGivesFurtherNodes) {
  Start(GrowMode::kNow);
  c_.Submit(Urgent(1));
  const RunId other = c_.Submit(Urgent(1));
  c_.AllReturned(elastic_);
  c_.Run(elastic_);
  EXPECT_EQ(c_.state(elastic_), RunState::kStopping);
  c_.AllReturned(elastic_);
  EXPECT_THAT(c_.nodes_of(elastic_), ElementsAre("pc1"));
  EXPECT_THAT(c_.nodes_of(other), ElementsAre("pc2"));
}

TEST_F(GiveTest, IfAKeptNodeIsLostItGoesOnWithTheOther) {
  Start(GrowMode::kNow);
  const RunId urgent = c_.Submit(Urgent(1));
  ASSERT_OK(c_.Returned(elastic_, "pc1"));
  ASSERT_OK(c_.Reclaim("pc1"));
  ASSERT_OK(c_.Returned(elastic_, "pc2"));
  ASSERT_OK(c_.Returned(elastic_, "pc3"));
  EXPECT_EQ(c_.state(urgent), RunState::kStarting);
  EXPECT_EQ(c_.state(elastic_), RunState::kStarting);
  EXPECT_EQ(c_.nodes_of(elastic_).size(), 1);
}

TEST_F(GiveTest, WhatAnotherGangIsAboutToReturnNeedNotBeGiven) {
  Start(GrowMode::kNow, /*min_nodes=*/2);
  c_.Join({"pc4", "pc5"});
  RunRequest request = Nodes(1, 2);
  request.grow = GrowMode::kNow;
  const RunId second = c_.Submit(request);
  c_.Run(second);
  const RunId urgent = c_.Submit(Urgent(1));
  EXPECT_EQ(c_.state(second), RunState::kStopping) << "the younger one gives";
  ASSERT_OK(c_.Returned(second, "pc4"));
  EXPECT_EQ(c_.state(elastic_), RunState::kRunning);
  ASSERT_OK(c_.Returned(second, "pc5"));
  EXPECT_EQ(c_.state(urgent), RunState::kStarting);
  EXPECT_EQ(c_.state(elastic_), RunState::kRunning);
}

TEST_F(GiveTest, ARunBehindOneThatCannotBeHelpedIsHelped) {
  Start(GrowMode::kNow);
  c_.Join({"pc4"});
  RunRequest on_pc4 = Nodes(1);
  on_pc4.node_list = {"pc4"};
  c_.Run(c_.Submit(on_pc4));
  on_pc4.priority = 5;
  const RunId first = c_.Submit(on_pc4);
  RunRequest other = Urgent(1);
  other.node_list = {"pc2", "pc3"};
  const RunId second = c_.Submit(other);
  c_.AllReturned(elastic_);
  EXPECT_EQ(c_.state(first), RunState::kQueued);
  EXPECT_THAT(c_.nodes_of(second), ElementsAre("pc3"));
}

TEST_F(GiveTest, NothingIsGivenThatARunInFrontCouldTake) {
  Start(GrowMode::kNow, /*min_nodes=*/2);
  c_.Submit(Urgent(2));
  c_.Submit(Urgent(1));
  EXPECT_EQ(c_.state(elastic_), RunState::kRunning);
}

TEST_F(GiveTest, NothingIsGivenToARunInItsBackOff) {
  Start(GrowMode::kNow);
  c_.Join({"pc4"});
  RunRequest request = Urgent(1);
  request.max_restarts = 1;
  const RunId urgent = c_.Submit(request);
  c_.Run(urgent);
  ASSERT_OK(c_.Exit(urgent, 0, 1));
  c_.AllReturned(urgent);
  ASSERT_OK(c_.Reclaim("pc4"));
  EXPECT_EQ(c_.state(elastic_), RunState::kRunning);
  c_.Pass(absl::Seconds(2));
  EXPECT_EQ(c_.state(elastic_), RunState::kStopping);
}

TEST_F(GiveTest, WhenTheOtherIsCancelledItKeepsEverything) {
  Start(GrowMode::kCheckpoint);
  const RunId urgent = c_.Submit(Urgent(1));
  ASSERT_OK(c_.Cancel(urgent));
  EXPECT_EQ(c_.Wait(elastic_), "");
  Checkpoint();
  EXPECT_EQ(c_.state(elastic_), RunState::kRunning);
}

TEST_F(GiveTest, GangsThatMayGiveAtAnyTimeWaitForThoseThatNeedACheckpoint) {
  Start(GrowMode::kCheckpoint, /*min_nodes=*/2);
  c_.Join({"pc4", "pc5"});
  RunRequest request = Nodes(1, 2);
  request.grow = GrowMode::kNow;
  const RunId second = c_.Submit(request);
  c_.Run(second);
  const RunId urgent = c_.Submit(Urgent(2));
  EXPECT_EQ(c_.state(second), RunState::kRunning);
  Checkpoint();
  EXPECT_EQ(c_.state(elastic_), RunState::kStopping);
  EXPECT_EQ(c_.state(second), RunState::kStopping);
  c_.AllReturned(elastic_);
  c_.AllReturned(second);
  EXPECT_EQ(c_.nodes_of(urgent).size(), 2);
  EXPECT_EQ(c_.nodes_of(elastic_).size(), 2);
  EXPECT_EQ(c_.nodes_of(second).size(), 1);
}

// ---------------------------------------------------------------- growth beside a waiting run

TEST_F(GiveTest, ItGrowsOntoNodesThatTheWaitingRunCannotUse) {
  Start(GrowMode::kNow);
  RunRequest request = Nodes(1);
  request.node_list = {"pc1"};
  c_.Submit(request);
  c_.Join({"pc4"});
  c_.Pass(absl::Seconds(31));
  c_.AllReturned(elastic_);
  EXPECT_THAT(c_.nodes_of(elastic_), Contains("pc4"));
}

}  // namespace
}  // namespace hpc::coordinator::testing
