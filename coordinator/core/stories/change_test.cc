// Queued runs are held, released and changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"
#include "coordinator/core/testing/cluster_tester.h"

namespace hpc::coordinator::testing {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// ------------------------------------------------------------------------------------------ held

TEST(HoldTest, AHeldRunDoesNotStart) {
  ClusterTester c;
  const RunId run = c.Submit(Nodes(1));
  ASSERT_OK(c.Hold(run));
  c.Join({"pc1"});
  EXPECT_EQ(c.state(run), RunState::kQueued);
  EXPECT_EQ(c.Wait(run), "held by anna (`hpcctl release 1` lets it start)");
  EXPECT_EQ(c.Position(run), 0);
  ASSERT_OK(c.Release(run));
  EXPECT_EQ(c.state(run), RunState::kStarting);
  EXPECT_THAT(c.TakeEvents("run."), AllOf(Contains(HasSubstr("run.held held by anna")),
                                          Contains(HasSubstr("run.released released by anna"))));
}

TEST(HoldTest, ARunMayBeHeldFromTheBeginning) {
  ClusterTester c;
  c.Join({"pc1"});
  RunRequest request = Nodes(1);
  request.hold = true;
  request.user = "bert";
  const RunId run = c.Submit(request);
  EXPECT_EQ(c.state(run), RunState::kQueued);
  EXPECT_THAT(c.Wait(run), HasSubstr("held by bert"));
  ASSERT_OK(c.Release(run));
  EXPECT_EQ(c.state(run), RunState::kStarting);
}

TEST(HoldTest, TheRunsBehindItDoNotWaitForIt) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  c.Run(c.Submit(Nodes(1)));
  const RunId large = c.Submit(Nodes(2));
  const RunId small = c.Submit(Nodes(1));
  EXPECT_EQ(c.state(small), RunState::kQueued);
  ASSERT_OK(c.Hold(large));
  EXPECT_EQ(c.state(small), RunState::kStarting);
}

TEST(HoldTest, ReleasedItIsWhereItWas) {
  ClusterTester c;
  c.Join({"pc1"});
  c.Run(c.Submit(Nodes(1)));
  const RunId first = c.Submit(Nodes(1));
  const RunId second = c.Submit(Nodes(1));
  ASSERT_OK(c.Hold(first));
  EXPECT_EQ(c.Position(second), 1);
  ASSERT_OK(c.Release(first));
  EXPECT_EQ(c.Position(first), 1);
  EXPECT_EQ(c.Position(second), 2);
}

TEST(HoldTest, ARunThatIsUnderWayCannotBeHeld) {
  ClusterTester c;
  c.Join({"pc1"});
  const RunId run = c.Submit(Nodes(1));
  c.Run(run);
  c.TakeEvents();
  EXPECT_THAT(c.Hold(run),
              StatusIs(kPrecondition,
                       "run 1 is running: only a run that waits in the queue can be held or "
                       "changed"));
  EXPECT_THAT(c.Hold(7), StatusIs(absl::StatusCode::kNotFound, "no run 7"));
  EXPECT_THAT(c.TakeEvents(), IsEmpty());
}

TEST(HoldTest, HoldingTwiceSaysNothingNew) {
  ClusterTester c;
  const RunId run = c.Submit(Nodes(1));
  ASSERT_OK(c.Hold(run));
  c.TakeEvents();
  ASSERT_OK(c.ChangeRun(run, {.hold = true}, "bert"));
  EXPECT_THAT(c.TakeEvents(), IsEmpty());
  EXPECT_EQ(c.record(run).on_hold, "held by anna");
}

TEST(HoldTest, TheRunThatItWaitsForDoesNotReleaseIt) {
  ClusterTester c;
  c.Join({"pc1"});
  const RunId first = c.Submit(Nodes(1));
  RunRequest request = Nodes(1);
  request.after = first;
  const RunId second = c.Submit(request);
  ASSERT_OK(c.Hold(second));
  c.Run(first);
  c.Finish(first);
  EXPECT_EQ(c.state(second), RunState::kQueued);
  ASSERT_OK(c.Release(second));
  EXPECT_EQ(c.state(second), RunState::kStarting);
}

TEST(HoldTest, ReleasedItStillWaitsForTheOtherRun) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  const RunId first = c.Submit(Nodes(1));
  RunRequest request = Nodes(1);
  request.after = first;
  const RunId second = c.Submit(request);
  ASSERT_OK(c.Hold(second));
  ASSERT_OK(c.Release(second));
  EXPECT_EQ(c.Wait(second), "waits for the success of run 1, which is starting");
  c.Run(first);
  c.Finish(first);
  EXPECT_EQ(c.state(second), RunState::kStarting);
}

// A gang that failed waits for a second before it starts again.
class HoldInBackOffTest : public ::testing::Test {
 protected:
  HoldInBackOffTest() {
    c_.Join({"pc1"});
    RunRequest request = Nodes(1);
    request.max_restarts = 3;
    run_ = c_.Submit(request);
    c_.Run(run_);
    EXPECT_OK(c_.Exit(run_, 0, 1));
    c_.AllReturned(run_);
    EXPECT_EQ(c_.state(run_), RunState::kQueued);
    EXPECT_OK(c_.Hold(run_));
  }
  ClusterTester c_;
  RunId run_ = 0;
};

TEST_F(HoldInBackOffTest, TheEndOfItsBackOffDoesNotStartIt) {
  c_.Pass(absl::Seconds(5));
  EXPECT_EQ(c_.state(run_), RunState::kQueued);
  ASSERT_OK(c_.Release(run_));
  EXPECT_EQ(c_.state(run_), RunState::kStarting);
}

TEST_F(HoldInBackOffTest, ReleasedItWaitsForTheEndOfItsBackOff) {
  ASSERT_OK(c_.Release(run_));
  EXPECT_THAT(c_.Wait(run_), HasSubstr("starts again in"));
  c_.Pass(absl::Seconds(2));
  EXPECT_EQ(c_.state(run_), RunState::kStarting);
}

TEST_F(HoldInBackOffTest, ReleasedItKeepsItsPlaceAgain) {
  ASSERT_OK(c_.Release(run_));
  const RunId other = c_.Submit(Nodes(1));
  EXPECT_EQ(c_.state(other), RunState::kQueued);
  c_.Pass(absl::Seconds(2));
  EXPECT_EQ(c_.state(run_), RunState::kStarting);
}

TEST_F(HoldInBackOffTest, NothingIsKeptForIt) {
  const RunId other = c_.Submit(Nodes(1));
  EXPECT_EQ(c_.state(other), RunState::kStarting);
}

TEST(HoldTest, ARestartOfTheCoordinatorKeepsIt) {
  ClusterTester before;
  before.Join({"pc1"});
  before.Run(before.Submit(Nodes(1)));
  const RunId run = before.Submit(Nodes(1));
  ASSERT_OK(before.Hold(run));
  before.Finish(1);

  ClusterTester after({}, before.Durable(), before.clock());
  after.Join({"pc1"});
  after.Pass(absl::Seconds(1));
  EXPECT_THAT(after.Wait(run), HasSubstr("held by anna"));
  ASSERT_OK(after.Release(run));
  EXPECT_EQ(after.state(run), RunState::kStarting);
}

TEST(HoldTest, AHeldRunCanBeCancelled) {
  ClusterTester c;
  const RunId run = c.Submit(Nodes(1));
  ASSERT_OK(c.Hold(run));
  ASSERT_OK(c.Cancel(run));
  EXPECT_EQ(c.state(run), RunState::kCancelled);
}

// --------------------------------------------------------------------------------------- changed

TEST(ChangeTest, APriorityMovesARunInTheQueue) {
  ClusterTester c;
  c.Join({"pc1"});
  c.Run(c.Submit(Nodes(1)));
  const RunId first = c.Submit(Nodes(1)), second = c.Submit(Nodes(1));
  c.TakeEvents();
  ASSERT_OK(c.ChangeRun(second, {.priority = 5}));
  EXPECT_EQ(c.Position(second), 1);
  EXPECT_EQ(c.Position(first), 2);
  EXPECT_EQ(c.record(second).request.priority, 5);
  EXPECT_THAT(c.TakeEvents("run.changed"), ElementsAre("run.changed --priority 0 -> 5 by anna"));
  c.Finish(1);
  EXPECT_EQ(c.state(second), RunState::kStarting);
}

TEST(ChangeTest, ARunThatAsksForLessStarts) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  c.Run(c.Submit(Nodes(1)));
  const RunId run = c.Submit(Nodes(2));
  EXPECT_EQ(c.state(run), RunState::kQueued);
  c.TakeEvents();
  ASSERT_OK(c.ChangeRun(run, {.min_nodes = 1, .max_nodes = 1}));
  EXPECT_EQ(c.state(run), RunState::kStarting);
  EXPECT_THAT(c.TakeEvents("run.changed"), ElementsAre("run.changed -N 2 -> 1 by anna"));
}

TEST(ChangeTest, NodesAreNamedAndFreed) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  RunRequest request = Nodes(1);
  request.node_list = {"pc1"};
  c.Run(c.Submit(request));
  const RunId run = c.Submit(request);
  EXPECT_EQ(c.state(run), RunState::kQueued);
  ASSERT_OK(c.ChangeRun(run, {.node_list = std::vector<std::string>()}));
  EXPECT_THAT(c.nodes_of(run), ElementsAre("pc2"));
}

TEST(ChangeTest, ATimeLimitLetsARunPassOthers) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  RunRequest request = Nodes(1);
  request.time_limit = absl::Hours(1);
  c.Run(c.Submit(request));
  c.Submit(Nodes(2));
  const RunId small = c.Submit(Nodes(1));
  EXPECT_EQ(c.state(small), RunState::kQueued);
  ASSERT_OK(c.ChangeRun(small, {.time_limit = absl::Minutes(10)}));
  EXPECT_EQ(c.state(small), RunState::kStarting);
}

TEST(ChangeTest, ATimeLimitChangesThoughItReadsTheSame) {
  ClusterTester c;
  RunRequest request = Nodes(1);
  request.time_limit = absl::Seconds(36'000);
  const RunId run = c.Submit(request);
  ASSERT_OK(c.ChangeRun(run, {.time_limit = absl::Seconds(36'029)}));
  EXPECT_EQ(c.record(run).request.time_limit, absl::Seconds(36'029));
}

TEST(ChangeTest, APriorityDoesNotBeginTheLastCallAnew) {
  ClusterTester c;
  c.Join({"pc1"});
  const RunId run = c.Submit(Nodes(1, 2));
  for (int i = 1; i <= 3; ++i) {
    c.Pass(absl::Milliseconds(600));
    ASSERT_OK(c.ChangeRun(run, {.priority = i}));
  }
  c.Pass(absl::Milliseconds(300));
  EXPECT_EQ(c.state(run), RunState::kStarting);
}

TEST(ChangeTest, WhatIsRefusedChangesNothing) {
  ClusterTester c;
  c.Join({"pc1"});
  c.Run(c.Submit(Nodes(1)));
  const RunId run = c.Submit(Nodes(1));
  const RunRecord before = c.record(run);
  c.TakeEvents();
  EXPECT_THAT(c.ChangeRun(run, {.hold = true, .priority = 5, .min_nodes = 2, .max_nodes = 2}),
              StatusIs(kPrecondition, HasSubstr("the cluster has 1 node")));
  EXPECT_THAT(c.ChangeRun(run, {.min_nodes = 3}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("-N 3:1")));
  EXPECT_THAT(c.ChangeRun(run, {.node_list = std::vector<std::string>{"pc7"}}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("pc7")));
  EXPECT_THAT(c.TakeEvents(), IsEmpty());
  EXPECT_EQ(c.record(run), before);
}

TEST(ChangeTest, ThatANodeIsGoneDoesNotKeepAPriorityFromChanging) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  c.Run(c.Submit(Nodes(1)));
  const RunId run = c.Submit(Nodes(2));
  c.ShutOut("pc2");
  EXPECT_OK(c.ChangeRun(run, {.priority = 5}));
}

}  // namespace
}  // namespace hpc::coordinator::testing
