// Nodes that no longer belong: shut out, and forgotten.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"
#include "coordinator/core/testing/cluster_tester.h"

namespace hpc::coordinator::testing {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// pc1, pc2 and pc3; pc3 has been shut out while it was idle.
class ShutOutTest : public ::testing::Test {
 protected:
  ShutOutTest() {
    c.Join({"pc1", "pc2", "pc3"});
    c.TakeEvents();
    c.ShutOut("pc3", "revoked by anna: stolen");
    c.Disconnect("pc3", /*reset=*/false);
  }
  ClusterTester c;
};

TEST_F(ShutOutTest, SaysWhyAndWhatRemovesIt) {
  EXPECT_EQ(c.NodeState("pc3"), "revoked");
  EXPECT_EQ(c.View("pc3").reason,
            "its certificate was revoked by anna: stolen; `hpcctl node forget pc3` removes it");
  EXPECT_THAT(c.TakeEvents("node.revoked"),
              ElementsAre("node.revoked is shut out: its certificate was revoked by anna: stolen"));
  c.Pass(absl::Minutes(1), {"pc3"});
  EXPECT_EQ(c.NodeState("pc3"), "revoked") << "not lost: nobody waits for it";
}

TEST_F(ShutOutTest, DoesNotExistForNewRuns) {
  EXPECT_THAT(c.TrySubmit(Nodes(3)),
              StatusIs(kPrecondition,
                       "needs 3 nodes, but only 2 nodes exist; the cluster has 2 nodes: "
                       "pc1 (1 GPU) and pc2 (1 GPU); pc3 is shut out"));
  EXPECT_EQ(c.cluster().GetTotals().nodes, 2);
  EXPECT_EQ(c.cluster().GetTotals().devices, 2);
}

TEST_F(ShutOutTest, IsANodeAgainWithItsNextHello) {
  protocol::Hello hello = HelloOf("pc3");
  hello.incarnation = 2;
  ASSERT_OK(c.Hello(hello));
  EXPECT_EQ(c.NodeState("pc3"), "idle");
  c.Run(c.Submit(Nodes(3)));
}

TEST_F(ShutOutTest, StaysOutOverARestartOfTheCoordinator) {
  ClusterTester later({}, c.Durable());
  EXPECT_EQ(later.NodeState("pc3"), "revoked");
}

TEST(ShutOutLaterTest, AQueuedRunThatCountedOnItIsToldSo) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  const RunId first = c.Submit(Nodes(1));
  c.Run(first);
  const RunId run = c.Submit(Nodes(2));
  c.ShutOut("pc2");
  c.Disconnect("pc2", /*reset=*/false);
  EXPECT_EQ(c.Wait(run),
            "needs 2 nodes, 0 are free: pc1 is used by run 1; only 1 node exists; pc2 is shut out");
}

TEST(ShutOutLaterTest, OneThatIsBeingWokenIsWaitedForNoLonger) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  ASSERT_OK(c.Sleep("pc2"));
  c.Disconnect("pc2", /*reset=*/true);
  const RunId run = c.Submit(Nodes(2));
  EXPECT_EQ(c.NodeState("pc2"), "waking");
  c.ShutOut("pc2");
  EXPECT_EQ(c.state(run), RunState::kQueued);
  c.TakeWakes();
  c.Pass(absl::Minutes(1));
  EXPECT_THAT(c.TakeWakes(), IsEmpty());
  EXPECT_THAT(c.Wake("pc2"),
              StatusIs(kPrecondition, AllOf(HasSubstr("is shut out"),
                                            HasSubstr("hpcctl token create --name pc2"))));
}

TEST(ShutOutLaterTest, IsToBeForgottenOnlyOnceNoRanksMayBeLeftThere) {
  ClusterTester c;
  c.Join({"pc1"});
  const RunId run = c.Submit(Nodes(1));
  c.Run(run);
  c.ShutOut("pc1");
  c.Disconnect("pc1", /*reset=*/false);
  EXPECT_FALSE(c.Forget("pc1").ok());
  EXPECT_EQ(c.View("pc1").reason,
            "its certificate was revoked by anna; ranks of attempt 1.1 may be left there, and once "
            "they are not `hpcctl node forget pc1` removes it");
  c.Pass(absl::Minutes(10), {"pc1"});
  EXPECT_EQ(c.View("pc1").reason,
            "its certificate was revoked by anna; `hpcctl node forget pc1` removes it");
  EXPECT_OK(c.Forget("pc1"));
}

TEST(ShutOutLaterTest, WhatRanThereEndsAsOnALostNode) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  const RunId run = c.Submit(Nodes(2));
  c.Run(run);
  c.ShutOut("pc2");
  c.Disconnect("pc2", /*reset=*/false);
  c.Pass(absl::Seconds(7));
  EXPECT_EQ(c.attempt(run).outcome, AttemptOutcome::kNodeLost);
  ASSERT_OK(c.Returned(run, "pc1"));
  EXPECT_THAT(c.Forget("pc2"),
              StatusIs(kPrecondition,
                       "pc2 cannot be forgotten yet: attempt 1.1 has ranks there, or "
                       "may have. `hpcctl why 1` says what it waits for, and "
                       "`hpcctl cancel 1` ends it"));
  c.Pass(absl::Minutes(6), {"pc2"});
  EXPECT_OK(c.Forget("pc2")) << "its ranks have ended by themselves by then";
  EXPECT_EQ(c.Wait(run), "needs 2 nodes, 1 is free; only 1 node exists");
}

TEST(ForgetRefusedTest, AConnectedNodeIsNotForgotten) {
  ClusterTester c;
  c.Join({"pc1"});
  EXPECT_THAT(c.Forget("pc1"), StatusIs(kPrecondition,
                                        "pc1 is connected: stop its worker there first (systemctl "
                                        "disable --now hpc-worker), or shut it out (hpcctl cert "
                                        "revoke worker/pc1)"));
  EXPECT_THAT(c.Forget("pc9"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("no node pc9")));
  EXPECT_EQ(c.NodeState("pc1"), "idle");
}

// pc1 and pc2 have run something together. pc2 is gone and forgotten.
class ForgetTest : public ::testing::Test {
 protected:
  ForgetTest() {
    c.Join({"pc1", "pc2"});
    run_ = c.Submit(Nodes(2));
    c.Run(run_);
    c.Finish(run_);
    EXPECT_OK(c.Leaving("pc2", "power-off"));
    c.Disconnect("pc2", /*reset=*/true);
    c.TakeEvents();
    EXPECT_OK(c.Forget("pc2"));
  }
  ClusterTester c;
  RunId run_ = 0;
};

TEST_F(ForgetTest, IsInNoListingAndNoCount) {
  EXPECT_THAT(c.TakeEvents(), ElementsAre("node.forgotten forgotten by anna"));
  EXPECT_THAT(c.cluster().NodeNames(), ElementsAre("pc1"));
  EXPECT_EQ(c.cluster().GetTotals().nodes, 1);
  EXPECT_THAT(c.TrySubmit(Nodes(2)), StatusIs(kPrecondition, AllOf(HasSubstr("only 1 node exists"),
                                                                   Not(HasSubstr("pc2")))));
  EXPECT_THAT(c.Forget("pc2"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("no node pc2")));
}

TEST_F(ForgetTest, FinishedRunsNameItStill) {
  EXPECT_THAT(c.nodes_of(run_), ElementsAre("pc1", "pc2"));
}

TEST_F(ForgetTest, ARestartedCoordinatorDoesNotRememberIt) {
  ClusterTester later({}, c.Durable());
  EXPECT_THAT(later.cluster().NodeNames(), ElementsAre("pc1"));
}

TEST_F(ForgetTest, NothingOfItRingsLater) {
  c.Pass(absl::Minutes(20));
  EXPECT_THAT(c.TakeEvents("node."), ElementsAre("node.forgotten forgotten by anna"));
}

TEST(ForgetSoonTest, SilenceThatWasWatchedForAGangIsNotLookedAtAgain) {
  ClusterTester c;
  for (const char* name : {"pc1", "pc2"}) {
    protocol::Hello hello = HelloOf(name);
    hello.can_vouch = true;
    ASSERT_OK(c.Hello(hello));
  }
  const RunId run = c.Submit(Nodes(2));
  c.Run(run);
  c.Finish(run);
  c.Disconnect("pc2", /*reset=*/true);
  ASSERT_OK(c.Forget("pc2"));
  c.Pass(absl::Minutes(20));
  EXPECT_EQ(c.NodeState("pc1"), "idle");
}

TEST_F(ForgetTest, ThatJoinsAgainIsANewNode) {
  c.Pass(absl::Hours(1));
  c.TakeEvents();
  protocol::Hello hello = HelloOf("pc2");
  hello.incarnation = 2;
  ASSERT_OK(c.Hello(hello));
  EXPECT_THAT(c.TakeEvents(), ElementsAre("node.joined joined from 10.0.0.pc2, 1 GPU"));
  EXPECT_EQ(c.View("pc2").record.first_seen, c.now().wall);
  c.Run(c.Submit(Nodes(2)));
  ClusterTester later({}, c.Durable());
  EXPECT_THAT(later.cluster().NodeNames(), ElementsAre("pc1", "pc2"));
}

TEST(ForgetQueuedTest, ARunThatNamesItIsToldThatItIsGone) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  ASSERT_OK(c.Reclaim("pc2"));
  RunRequest request = Nodes(1);
  request.node_list = {"pc2"};
  const RunId run = c.Submit(request);
  c.Disconnect("pc2", /*reset=*/true);
  ASSERT_OK(c.Forget("pc2"));
  EXPECT_EQ(c.Wait(run),
            "needs 1 node among pc2 (--nodelist), 0 are free; no node that it may use exists; pc2 "
            "is no node any more");
}

}  // namespace
}  // namespace hpc::coordinator::testing
