// Which requests are refused at once, which are queued, and how runs wait for another run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"
#include "coordinator/core/testing/cluster_tester.h"

namespace hpc::coordinator::testing {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kNotFound = absl::StatusCode::kNotFound;

TEST(SubmitTest, ContradictionsAreRefused) {
  ClusterTester c;
  c.Join({"pc1", "pc2", "pc3"});
  EXPECT_THAT(c.TrySubmit(Nodes(3, 2)),
              StatusIs(kInvalid, "-N 3:2: the least number of nodes is larger than the most"));
  EXPECT_THAT(c.TrySubmit(Nodes(0)), StatusIs(kInvalid, "-N 0: needs at least 1 node"));
  EXPECT_THAT(c.TrySubmit(Gpus(-1)),
              StatusIs(kInvalid, "--gpus-per-node -1: must not be negative"));
  RunRequest request;
  request.ranks_per_node = -2;
  EXPECT_THAT(c.TrySubmit(request), StatusIs(kInvalid, HasSubstr("--ranks-per-node -2")));
  request = {};
  request.time_limit = absl::ZeroDuration();
  EXPECT_THAT(c.TrySubmit(request), StatusIs(kInvalid, HasSubstr("must be positive")));
  request = {};
  request.max_restarts = -1;
  EXPECT_THAT(c.TrySubmit(request), StatusIs(kInvalid, HasSubstr("--max-restarts -1")));
  request = {};
  request.stop_grace = absl::Seconds(-1);
  EXPECT_THAT(c.TrySubmit(request), StatusIs(kInvalid, HasSubstr("must not be negative")));
}

TEST(SubmitTest, MoreRanksThanAnyNodeOrRunMayHaveAreRefused) {
  ClusterTester c;
  RunRequest request = Nodes(1);
  request.ranks_per_node = 1024;
  EXPECT_OK(c.TrySubmit(request));
  request.ranks_per_node = 1025;
  EXPECT_THAT(c.TrySubmit(request),
              StatusIs(kInvalid, "--ranks-per-node 1025: a node may have at most 1024 ranks"));
  request = Nodes(1, 64);
  request.ranks_per_node = 1024;
  EXPECT_OK(c.TrySubmit(request));
  request = Nodes(1, 65);
  request.ranks_per_node = 1024;
  EXPECT_THAT(c.TrySubmit(request),
              StatusIs(kInvalid,
                       "65 nodes with --ranks-per-node 1024 are 66560 ranks: a run may "
                       "have at most 65536"));
  EXPECT_THAT(c.TrySubmit(Nodes(1, 65'537)), StatusIs(kInvalid, HasSubstr("at most 65536")));
}

TEST(SubmitTest, WhatIsRefusedChangesNothing) {
  ClusterTester c;
  c.Join({"pc1"});
  c.TakeEvents();
  EXPECT_FALSE(c.TrySubmit(Nodes(3, 2)).ok());
  EXPECT_FALSE(c.TrySubmit(Nodes(9)).ok());
  EXPECT_THAT(c.TakeEvents(), IsEmpty());
  EXPECT_EQ(c.Submit(Nodes(1)), 1) << "no number was used up";
}

TEST(SubmitTest, AUserMayHaveSoManyRunsThatAreNotOver) {
  ClusterTester c(ClusterOptions{.runs_per_user = 2});
  c.Join({"pc1"});
  RunRequest annas = Nodes(1), bobs = Nodes(1);
  annas.user = "anna";
  bobs.user = "bob";
  EXPECT_EQ(c.Submit(annas), 1);
  EXPECT_EQ(c.Submit(annas), 2);
  EXPECT_THAT(c.TrySubmit(annas), StatusIs(absl::StatusCode::kResourceExhausted,
                                           HasSubstr("anna has 2 runs that are not over")));
  EXPECT_EQ(c.Submit(bobs), 3);
  EXPECT_OK(c.Cancel(2));
  EXPECT_EQ(c.Submit(annas), 4);
}

TEST(SubmitTest, UnknownNodesAreRefusedAndTheNearestIsNamed) {
  ClusterTester c;
  c.Join({"pc1", "pc2", "garage"});
  RunRequest request = Nodes(1);
  request.node_list = {"garege"};
  EXPECT_THAT(c.TrySubmit(request), StatusIs(kNotFound, "no node garege; did you mean garage?"));
  request.node_list = {};
  request.exclude = {"kitchen-pc"};
  EXPECT_THAT(c.TrySubmit(request),
              StatusIs(kNotFound, "no node kitchen-pc; there are garage, pc1 and pc2"));
}

TEST(SubmitTest, MoreThanExistsIsRefusedAndWhatExistsIsSaid) {
  ClusterTester c;
  ASSERT_OK(c.Hello(HelloOf("pc1", 2)));
  ASSERT_OK(c.Hello(HelloOf("pc2", 1)));
  ASSERT_OK(c.Hello(HelloOf("pi", 0, 1)));
  ASSERT_OK(c.Reclaim("pc2"));
  EXPECT_THAT(c.TrySubmit(Nodes(4)),
              StatusIs(kPrecondition,
                       "needs 4 nodes, but only 3 nodes exist; the cluster has 3 nodes: "
                       "pc1 (2 GPUs), pc2 (1 GPU, reclaimed) and pi (no GPU)"));
  EXPECT_THAT(c.TrySubmit(Gpus(3)),
              StatusIs(kPrecondition,
                       HasSubstr("needs 1 node with 3 GPUs, but no node has at least 3 GPUs")));
  RunRequest request = Nodes(2);
  request.gpus_per_node = 2;
  EXPECT_THAT(c.TrySubmit(request),
              StatusIs(kPrecondition, HasSubstr("needs 2 nodes with 2 GPUs each, but only 1 node "
                                                "has at least 2 GPUs; the cluster has 3 nodes")));
  request = Nodes(2);
  request.node_list = {"pc1"};
  EXPECT_THAT(c.TrySubmit(request),
              StatusIs(kPrecondition,
                       HasSubstr("2 nodes, of pc1, but only 1 node that it may use exists")));
  request = Nodes(3);
  request.exclude = {"pi"};
  EXPECT_THAT(c.TrySubmit(request),
              StatusIs(kPrecondition, HasSubstr("not pi, but only 2 nodes that it may use exist")));
}

// An upgraded driver does not answer until the next boot. The training would run on the CPU, and
// nobody would notice.
TEST(SubmitTest, APcWhoseGpusDoNotAnswerIsUsedOnlyByRunsThatNameItOrUseNone) {
  ClusterTester c;
  protocol::Hello hello = HelloOf("pc1", 0, 1);
  hello.inventory.gpu_trouble = "nvmlInit: Driver/library version mismatch";
  ASSERT_OK(c.Hello(hello));
  EXPECT_EQ(c.View("pc1").reason,
            "pc1's GPUs cannot be used: nvmlInit: Driver/library version mismatch");
  EXPECT_THAT(c.TrySubmit(Nodes(1)),
              StatusIs(kPrecondition,
                       "needs 1 node, but pc1's GPUs cannot be used: nvmlInit: Driver/library "
                       "version mismatch (--nodelist pc1 runs on its CPU anyway)"));
  RunRequest named = Nodes(1);
  named.node_list = {"pc1"};
  const RunId first = c.Submit(named);
  EXPECT_EQ(c.state(first), RunState::kStarting);
  c.Run(first);
  c.Finish(first);
  const RunId second = c.Submit(Gpus(0));
  EXPECT_EQ(c.state(second), RunState::kStarting);
  c.Run(second);
  c.Finish(second);
  ASSERT_OK(c.Hello(HelloOf("pc2")));
  ASSERT_OK(c.Hello(HelloOf("pc3")));
  c.Run(c.Submit(Gpus(1)));
  const RunId waits = c.Submit(Nodes(2));
  EXPECT_THAT(c.Wait(waits), HasSubstr("needs 2 nodes, 1 is free"));
}

TEST(SubmitTest, WhatExistsButIsBusyOffOrReclaimedIsQueued) {
  ClusterTester c;
  c.Join({"pc1", "pc2", "pc3", "pc4"});
  const RunId first = c.Submit(Nodes(1));
  ASSERT_EQ(c.nodes_of(first), std::vector<std::string>{"pc1"});
  ASSERT_OK(c.Reclaim("pc2", absl::Hours(2)));
  const RunId run = c.Submit(Nodes(4));
  EXPECT_EQ(c.state(run), RunState::kQueued);
  EXPECT_EQ(c.Position(run), 1);
  EXPECT_EQ(c.Wait(run),
            "needs 4 nodes, 2 are free: pc1 is used by run 1 and pc2 is reclaimed by its owner "
            "for another 2 h");
}

TEST(SubmitTest, BeforeAnyNodeHasJoinedRunsAreQueued) {
  ClusterTester c;
  const RunId run = c.Submit(Nodes(4));
  EXPECT_EQ(c.Wait(run), "no node has joined yet");
  RunRequest request = Nodes(1);
  request.node_list = {"pc1"};
  EXPECT_THAT(c.TrySubmit(request), StatusIs(kNotFound, "no node pc1: no node has joined yet"));
  c.Join({"pc1", "pc2", "pc3"});
  EXPECT_EQ(c.Wait(run), "needs 4 nodes, 3 are free; only 3 nodes exist");
  c.Join({"pc4"});
  EXPECT_EQ(c.state(run), RunState::kStarting);
}

TEST(SubmitTest, RunIdsGoOnBehindTheLastOneEver) {
  Snapshot snapshot;
  snapshot.last_run = 41;
  ClusterTester c({}, snapshot);
  EXPECT_EQ(c.Submit(Nodes(1)), 42);
}

RunRequest After(RunId run) {
  RunRequest request = Nodes(1);
  request.after = run;
  return request;
}

TEST(AfterTest, WaitsForTheSuccessOfTheOtherRun) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  const RunId first = c.Submit(Nodes(1));
  const RunId second = c.Submit(After(first));
  EXPECT_EQ(c.state(second), RunState::kQueued);
  EXPECT_EQ(c.Wait(second), "waits for the success of run 1, which is starting");
  EXPECT_EQ(c.Position(second), 0);
  c.Run(first);
  c.Finish(first);
  EXPECT_EQ(c.state(second), RunState::kStarting);
}

TEST(AfterTest, EndsWhenTheOtherRunDoesNotSucceedAndSoDoThoseBehindIt) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  const RunId first = c.Submit(Nodes(1));
  const RunId second = c.Submit(After(first));
  const RunId third = c.Submit(After(second));
  ASSERT_OK(c.Cancel(first));
  c.AllReturned(first);
  EXPECT_EQ(c.state(second), RunState::kFailed);
  EXPECT_EQ(c.record(second).reason, "run 1, whose success it waits for, ended as cancelled");
  EXPECT_EQ(c.record(second).exit_code, 125);
  EXPECT_EQ(c.state(third), RunState::kFailed);
  EXPECT_EQ(c.record(third).reason, "run 2, whose success it waits for, ended as failed");
}

TEST(AfterTest, RunThatIsOverIsLookedUp) {
  Snapshot snapshot;
  snapshot.last_run = 10;
  ClusterTester c({}, snapshot);
  c.past = {{7, RunState::kSucceeded}, {8, RunState::kTimedOut}};
  c.Join({"pc1"});
  EXPECT_EQ(c.state(c.Submit(After(7))), RunState::kStarting);
  EXPECT_THAT(c.TrySubmit(After(8)),
              StatusIs(kPrecondition,
                       "--after 8: run 8 ended as timed-out, and only its success would let this "
                       "run start"));
  EXPECT_THAT(c.TrySubmit(After(9)), StatusIs(kInvalid, "--after 9: there is no run 9"));
  EXPECT_THAT(c.TrySubmit(After(99)), StatusIs(kInvalid, "--after 99: there is no run 99"));
  EXPECT_EQ(c.Submit(Nodes(1)), 12) << "nothing was created by those that were refused";
}

TEST(AfterTest, CancelledWhileItWaitsItStaysCancelled) {
  ClusterTester c;
  c.Join({"pc1"});
  const RunId first = c.Submit(Nodes(1));
  const RunId second = c.Submit(After(first));
  ASSERT_OK(c.Cancel(second));
  c.Run(first);
  c.Finish(first);
  EXPECT_EQ(c.state(second), RunState::kCancelled);
}

TEST(AfterTest, LongChainsEndWithoutTrouble) {
  ClusterTester c;
  c.Join({"pc1"});
  const RunId first = c.Submit(Nodes(1));
  RunId last = first;
  for (int i = 0; i < 3000; ++i) last = c.Submit(After(last));
  ASSERT_OK(c.Cancel(first));
  c.AllReturned(first);
  EXPECT_EQ(c.state(last), RunState::kFailed);
  EXPECT_EQ(c.cluster().GetTotals().queued, 0);
}

}  // namespace
}  // namespace hpc::coordinator::testing
