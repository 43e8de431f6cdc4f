// What a run waits for, in words, and where it stands in the queue.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"
#include "coordinator/core/testing/cluster_tester.h"
#include "protocol/worker_message.h"

namespace hpc::coordinator::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(WaitingTest, HeadOfTheQueueSaysWhatItLacks) {
  ClusterTester c;
  c.Join({"pc1", "pc2", "pc3", "pc4"});
  ASSERT_OK(c.Reclaim("pc4"));
  const RunId small = c.Submit(Nodes(1));
  const RunId large = c.Submit(Nodes(4));
  EXPECT_EQ(c.nodes_of(small), std::vector<std::string>{"pc1"});
  EXPECT_EQ(c.Wait(large),
            "needs 4 nodes, 2 are free: pc1 is used by run 1 and pc4 is reclaimed by its owner");
  EXPECT_EQ(c.Position(large), 1);
}

TEST(WaitingTest, OthersSayWhomTheyWaitBehind) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  c.Submit(Nodes(1));
  const RunId head = c.Submit(Nodes(2));
  const RunId second = c.Submit(Nodes(1));
  const RunId third = c.Submit(Nodes(2));
  EXPECT_EQ(head, 2);
  EXPECT_EQ(c.Wait(second),
            "2nd in the queue, behind run 2 which needs 2 nodes; what is free is kept for it");
  EXPECT_EQ(c.Position(second), 2);
  EXPECT_EQ(c.Wait(third),
            "3rd in the queue, behind run 2 which needs 2 nodes, then run 3; needs 2 nodes, 1 is "
            "free: pc1 is used by run 1");
}

TEST(WaitingTest, WhereTimeLimitsTellItIsSaidWhenARunStartsAndWhatWouldStartNow) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  RunRequest limited = Nodes(1);
  limited.time_limit = absl::Minutes(10);
  limited.stop_grace = absl::Seconds(30);
  c.Run(c.Submit(limited));
  const RunId head = c.Submit(Nodes(2));
  EXPECT_EQ(c.Wait(head),
            "needs 2 nodes, 1 is free: pc1 is used by run 1; starts in 10 min 30 s at the latest");
  c.Pass(absl::Minutes(4));
  RunRequest behind = Nodes(1);
  behind.stop_grace = absl::Seconds(30);
  const RunId second = c.Submit(behind);
  EXPECT_EQ(
      c.Wait(second),
      "2nd in the queue, behind run 2 which needs 2 nodes; what is free is kept for it, which "
      "starts in 6 min 30 s at the latest; with '--time-limit 360s' this one would start now");
  ASSERT_OK(c.Cancel(second));
  behind.time_limit = absl::Seconds(360);
  const RunId third = c.Submit(behind);
  EXPECT_EQ(c.state(third), RunState::kStarting) << "it was no empty promise";
}

TEST(WaitingTest, ManyNodesAreNotAllNamed) {
  ClusterTester c;
  std::vector<std::string> names;
  for (int i = 1; i <= 9; ++i) names.push_back("pc" + std::to_string(i));
  c.Join(names);
  c.Submit(Nodes(7));
  const RunId run = c.Submit(Nodes(5));
  EXPECT_EQ(c.Wait(run),
            "needs 5 nodes, 2 are free: pc1 is used by run 1, pc2 is used by run 1, pc3 is used by "
            "run 1, pc4 is used by run 1 and 3 more");
}

TEST(WaitingTest, WhyARunCouldNotStartAtOnceIsAnEvent) {
  ClusterTester c;
  c.Join({"pc1"});
  c.Submit(Nodes(1));
  c.TakeEvents();
  c.Submit(Nodes(1));
  EXPECT_THAT(c.TakeEvents(), ElementsAre("run.queued asks for 1 node",
                                          "run.waiting needs 1 node, 0 are free: pc1 is used by "
                                          "run 1"));
}

TEST(WaitingTest, PriorityGoesBeforeAge) {
  ClusterTester c;
  c.Join({"pc1"});
  c.Submit(Nodes(1));
  const RunId older = c.Submit(Nodes(1));
  RunRequest urgent = Nodes(1);
  urgent.priority = 5;
  const RunId newer = c.Submit(urgent);
  EXPECT_EQ(c.Position(newer), 1);
  EXPECT_EQ(c.Position(older), 2);
  EXPECT_THAT(c.Wait(older), HasSubstr("2nd in the queue, behind run 3 which needs 1 node"));
}

TEST(WaitingTest, WhoMayUseSomeNodesOnlyIsToldSo) {
  ClusterTester c;
  c.Join({"pc1", "pc2", "pc3"});
  RunRequest request = Nodes(1);
  request.node_list = {"pc1"};
  c.Submit(request);
  request = Nodes(2);
  request.node_list = {"pc1", "pc2"};
  const RunId some = c.Submit(request);
  EXPECT_EQ(c.Wait(some),
            "needs 2 nodes among pc1 and pc2 (--nodelist), 1 is free: pc1 is used by run 1");
  request = Nodes(1);
  request.exclude = {"pc2", "pc3"};
  EXPECT_EQ(
      c.Wait(c.Submit(request)),
      "2nd in the queue, behind run 2 which needs 2 nodes; needs 1 node other than pc2 and pc3 "
      "(--exclude), 0 are free: pc1 is used by run 1");
}

TEST(WaitingTest, StartingRunSaysForWhichNode) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  const RunId run = c.Submit(Nodes(2));
  EXPECT_EQ(c.Wait(run), "waits for the preparation on pc1 and pc2");
  ASSERT_OK(c.Prepared(run, "pc1"));
  EXPECT_EQ(c.Wait(run), "waits for the preparation on pc2");
  ASSERT_OK(c.Prepared(run, "pc2"));
  ASSERT_OK(c.Started(run, "pc2"));
  EXPECT_EQ(c.Wait(run), "waits for the ranks of pc1");
  ASSERT_OK(c.Started(run, "pc1"));
  EXPECT_EQ(c.Wait(run), "");
}

// A gang on pc1 to pc4. Its ranks reach the rendezvous as a test says.
class MeetingTest : public ::testing::Test {
 protected:
  MeetingTest() {
    c.Join({"pc1", "pc2", "pc3", "pc4"});
    run = c.Submit(Nodes(4));
    c.Run(run);
    report.ref = {run, 1};
    c.TakeEvents();
  }
  void Arrive(const std::vector<int>& ranks) {
    for (int rank : ranks) {
      report.arrivals.push_back({"10.0.0.pc" + std::to_string(rank + 1), 1000 + rank});
    }
    ASSERT_OK(c.Report("pc1", report));
  }
  std::string State() { return c.cluster().RendezvousState(c.now(), run); }

  ClusterTester c;
  RunId run;
  protocol::RendezvousReport report;
};

TEST_F(MeetingTest, RankThatHasNotComeIsNamedWithThoseWhoWait) {
  Arrive({0, 1, 3});
  c.Pass(absl::Seconds(2));
  EXPECT_EQ(c.Wait(run),
            "rank 2 on pc3 has not reached the rendezvous for 2 s; ranks 0, 1 and 3 wait");
  EXPECT_EQ(State(), c.Wait(run));
  ASSERT_OK(c.Report(
      "pc3", protocol::Heartbeat{{{{run, 1}, 2, "python3 (1002) sleeps in hrtimer_nanosleep"},
                                  {{run, 7}, 2, "of another attempt"}}}));
  EXPECT_EQ(c.Wait(run),
            "rank 2 on pc3 has not reached the rendezvous for 2 s; ranks 0, 1 and 3 wait; rank 2: "
            "python3 (1002) sleeps in hrtimer_nanosleep");
  EXPECT_THAT(c.TakeEvents(), ElementsAre());
  Arrive({2});
  Arrive({});
  EXPECT_EQ(c.Wait(run), "");
  EXPECT_EQ(State(),
            "all 4 ranks have reached the rendezvous; rank 2: python3 (1002) sleeps in "
            "hrtimer_nanosleep");
  ASSERT_OK(c.Report("pc3", protocol::Heartbeat{}));
  EXPECT_EQ(State(),
            "all 4 ranks have reached the rendezvous; what they do since then is not known here");
  EXPECT_THAT(c.TakeEvents(),
              ElementsAre("run.connected all 4 ranks have reached the rendezvous, 2 s after they "
                          "were started"));
  c.Pass(absl::Hours(1));
  EXPECT_THAT(c.TakeEvents(), ElementsAre());
}

TEST(RankAloneTest, WhatItDoesIsSaid) {
  ClusterTester c;
  c.Join({"pc1"});
  const RunId run = c.Submit(Nodes(1));
  c.Run(run);
  EXPECT_EQ(c.cluster().RendezvousState(c.now(), run), "");
  ASSERT_OK(
      c.Report("pc1", protocol::Heartbeat{{{{run, 1}, 0, "python3 (4711) sleeps in futex_wait"}}}));
  EXPECT_EQ(c.cluster().RendezvousState(c.now(), run),
            "rank 0: python3 (4711) sleeps in futex_wait");
}

TEST_F(MeetingTest, RanksThatWaitForLongAreAnEventThreeTimesAtMost) {
  Arrive({0});
  c.Pass(absl::Seconds(9));
  EXPECT_THAT(c.TakeEvents(), ElementsAre());
  c.Pass(absl::Seconds(1));
  EXPECT_THAT(c.TakeEvents(),
              ElementsAre("run.rendezvous-late ranks 1 on pc2, 2 on pc3 and 3 on pc4 have not "
                          "reached the rendezvous for 10 s; rank 0 waits"));
  Arrive({1, 3});
  c.Pass(absl::Hours(1));
  EXPECT_THAT(c.TakeEvents(),
              ElementsAre("run.rendezvous-late rank 2 on pc3 has not reached the rendezvous for 1 "
                          "min; ranks 0, 1 and 3 wait",
                          "run.rendezvous-late rank 2 on pc3 has not reached the rendezvous for 10 "
                          "min; ranks 0, 1 and 3 wait"));
}

TEST_F(MeetingTest, RankThatHangsBehindTheDoorIsKnownByTheKeyThatTheOthersWaitFor) {
  Arrive({0, 1, 2, 3});
  c.TakeEvents();
  report.blocked_key = "/default_pg/0//cpu//0/2";
  report.waiting = 3;
  Arrive({});
  c.Pass(absl::Seconds(10));
  const std::string words =
      "all 4 ranks have reached the rendezvous, and for 10 s 3 connections wait for key "
      "/default_pg/0//cpu//0/2, which rank 2 on pc3 has to set";
  EXPECT_EQ(c.Wait(run), words);
  EXPECT_THAT(c.TakeEvents(), ElementsAre("run.rendezvous-late " + words));
  report.blocked_key = "a program's own";
  report.waiting = 1;
  Arrive({});
  c.Pass(absl::Seconds(3));
  EXPECT_EQ(c.Wait(run),
            "all 4 ranks have reached the rendezvous, and for 3 s 1 connection waits for key a "
            "program's own");
}

TEST_F(MeetingTest, ProgramThatNeedsNoRendezvousIsNotSaidToWait) {
  c.Pass(absl::Hours(1));
  Arrive({});
  EXPECT_EQ(c.Wait(run), "");
  const char* words =
      "; only programs that use torch.distributed do, and none that sets MASTER_ADDR or "
      "MASTER_PORT itself (leave that out: ranks have both)";
  EXPECT_EQ(State(), absl::StrCat("no rank has come to the rendezvous for 1 h", words));
  EXPECT_THAT(c.TakeEvents(),
              ElementsAre(absl::StrCat(
                  "run.rendezvous-late no rank has come to the rendezvous for 30 s", words)))
      << "it is said once";
}

TEST_F(MeetingTest, ProcessesThatAreNoRanksMayBeThoseThatSeemToBeMissing) {
  Arrive({0});
  for (int pid : {71, 72, 73}) report.arrivals.push_back({"10.0.0.pc2", pid});
  Arrive({});
  c.Pass(absl::Minutes(1));
  EXPECT_EQ(c.Wait(run), "");
  EXPECT_EQ(State(),
            "rank 0 and 3 processes that ranks have started have reached the rendezvous; what they "
            "do since then is not known here");
  EXPECT_THAT(c.TakeEvents("run.rendezvous"), ElementsAre());
}

TEST_F(MeetingTest, AnEndEndsTheWaiting) {
  Arrive({0});
  ASSERT_OK(c.Cancel(run));
  c.Pass(absl::Minutes(1));
  EXPECT_THAT(c.TakeEvents("run.rendezvous"), ElementsAre());
  c.AllReturned(run);
  EXPECT_EQ(State(), "");
}

TEST(MeetingStartTest, WhatIsReportedBeforeTheLastNodeHasStartedCounts) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  const RunId run = c.Submit(Nodes(2));
  c.AllPrepared(run);
  ASSERT_OK(c.Started(run, "pc1"));
  ASSERT_OK(c.Report("pc1", protocol::RendezvousReport{{run, 1}, {{"10.0.0.pc1", 1000}}, "", 0}));
  c.Pass(absl::Seconds(1));
  ASSERT_OK(c.Started(run, "pc2"));
  c.Pass(absl::Seconds(10));
  EXPECT_THAT(c.TakeEvents("run.rendezvous"),
              ElementsAre("run.rendezvous-late rank 1 on pc2 has not reached the rendezvous for 10 "
                          "s; rank 0 waits"));
}

TEST(WaitingTest, RunThatIsOverWaitsForNothing) {
  ClusterTester c;
  c.Join({"pc1"});
  const RunId run = c.Submit(Nodes(1));
  c.Run(run);
  c.Finish(run);
  EXPECT_EQ(c.Wait(run), "");
  EXPECT_FALSE(c.cluster().FindRun(run).has_value());
}

TEST(TotalsTest, CountWhatThereIs) {
  ClusterTester c;
  ASSERT_OK(c.Hello(HelloOf("pc1", 2)));
  ASSERT_OK(c.Hello(HelloOf("pc2", 2)));
  ASSERT_OK(c.Hello(HelloOf("pc3", 1)));
  c.Pass(absl::Seconds(6), {"pc3"});
  c.Run(c.Submit(Gpus(1)));
  c.Submit(Gpus(2));
  c.Submit(Nodes(3));
  const Cluster::Totals totals = c.cluster().GetTotals();
  EXPECT_EQ(totals.nodes, 3);
  EXPECT_EQ(totals.nodes_connected, 2);
  EXPECT_EQ(totals.devices, 5);
  EXPECT_EQ(totals.devices_free, 1);
  EXPECT_EQ(totals.running, 2);
  EXPECT_EQ(totals.queued, 1);
}

TEST(NodeViewTest, ShowsWhatHoldsTheDevices) {
  ClusterTester c;
  ASSERT_OK(c.Hello(HelloOf("pc1", 3)));
  const RunId run = c.Submit(Gpus(2));
  const Cluster::NodeView view = c.View("pc1");
  EXPECT_EQ(view.state, "busy");
  EXPECT_EQ(view.link, Link::kConnected);
  EXPECT_THAT(view.attempts, ElementsAre(AttemptRef{run, 1}));
  EXPECT_THAT(view.free_devices, ElementsAre(2));
}

TEST(NodeViewTest, ReasonIsTrueNowOrEmpty) {
  ClusterTester c;
  c.Join({"pc1"});
  EXPECT_EQ(c.View("pc1").reason, "") << "it is on and ready";
  c.Disconnect("pc1", /*reset=*/false);
  c.Pass(absl::Seconds(2));
  EXPECT_EQ(c.View("pc1").reason, "its connection broke; lost unless it is back within 4 s");
  c.Pass(absl::Seconds(10));
  EXPECT_EQ(c.View("pc1").reason, "not heard for 12 s");
  ASSERT_OK(c.Hello(HelloOf("pc1")));
  EXPECT_EQ(c.View("pc1").reason, "") << "what it was lost for is over";
  ASSERT_OK(c.Sleep("pc1"));
  EXPECT_EQ(c.View("pc1").reason, "asked to sleep by anna");
  ASSERT_OK(c.Hello(HelloOf("pc1")));
  EXPECT_EQ(c.View("pc1").reason, "") << "it did not sleep, but that is past";
}

TEST(NodeViewTest, ReclaimedNodeOffersNothingAndSaysForHowLong) {
  ClusterTester c;
  c.Join({"pc1"});
  ASSERT_OK(c.Reclaim("pc1", absl::Hours(1)));
  c.Pass(absl::Minutes(10));
  ASSERT_OK(c.Hello(HelloOf("pc1")));
  EXPECT_EQ(c.View("pc1").reason, "its owner has taken it back: a game, for another 50 min");
  EXPECT_THAT(c.View("pc1").free_devices, ElementsAre());
  ASSERT_OK(c.Lend("pc1"));
  EXPECT_EQ(c.View("pc1").reason, "");
  EXPECT_THAT(c.View("pc1").free_devices, ElementsAre(0));
  ASSERT_OK(c.Reclaim("pc1"));
  EXPECT_EQ(c.View("pc1").reason, "its owner has taken it back: a game, until it is lent");
}

TEST(NodeViewTest, SleepingNodeOffersWhatItHasAndALostOneNothing) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  ASSERT_OK(c.Leaving("pc1", "suspend"));
  c.Pass(absl::Seconds(6), {"pc1", "pc2"});
  EXPECT_EQ(c.View("pc1").state, "off");
  EXPECT_THAT(c.View("pc1").free_devices, ElementsAre(0)) << "it is woken for work";
  EXPECT_EQ(c.View("pc2").state, "lost");
  EXPECT_THAT(c.View("pc2").free_devices, ElementsAre());
}

}  // namespace
}  // namespace hpc::coordinator::testing
