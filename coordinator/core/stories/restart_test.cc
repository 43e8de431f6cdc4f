// A restarted coordinator goes on from what was durable.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"
#include "coordinator/core/testing/cluster_tester.h"
#include "protocol/worker_message.h"

namespace hpc::coordinator::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

protocol::Hello Holding(const std::string& node, const std::vector<protocol::HeldAttempt>& held) {
  protocol::Hello hello = HelloOf(node);
  hello.attempts = held;
  return hello;
}

// The durable state when a gang of two runs on pc1 and pc2 and another run is queued.
Snapshot RunningGang() {
  ClusterTester before;
  before.Join({"pc1", "pc2"});
  RunRequest request = Nodes(2);
  request.time_limit = absl::Hours(1);
  before.Run(before.Submit(request));
  before.Submit(Nodes(1));
  return before.Durable();
}

TEST(RestartTest, RunningGangRunsOn) {
  ClusterTester c({}, RunningGang());
  EXPECT_EQ(c.NodeState("pc1"), "unknown");
  ASSERT_OK(c.Hello(Holding("pc1", {Held({1, 1}, 0)})));
  c.Pass(absl::Seconds(8));
  ASSERT_OK(c.Hello(Holding("pc2", {Held({1, 1}, 1)})));
  EXPECT_EQ(c.state(1), RunState::kRunning);
  EXPECT_EQ(c.state(2), RunState::kQueued);
  EXPECT_EQ(c.Position(2), 1);
  EXPECT_THAT(c.TakeMessages(), IsEmpty());
  c.Finish(1);
  EXPECT_EQ(c.state(1), RunState::kSucceeded);
  EXPECT_EQ(c.state(2), RunState::kStarting);
}

TEST(RestartTest, NumbersGoOn) {
  ClusterTester c({}, RunningGang());
  c.Join({"pc3"});  // the tester checks that the numbers of events go on
  EXPECT_EQ(c.Submit(Nodes(1)), 3);
}

TEST(RestartTest, NodeThatDoesNotComeBackIsLostAndFenced) {
  ClusterTester c({}, RunningGang());
  ASSERT_OK(c.Hello(Holding("pc1", {Held({1, 1}, 0)})));
  c.Pass(absl::Seconds(10));
  EXPECT_EQ(c.state(1), RunState::kRunning);
  c.Pass(absl::Seconds(1));
  EXPECT_EQ(c.record(1).reason, "pc2 did not come back after the coordinator's restart");
  ASSERT_OK(c.Returned(1, "pc1"));
  c.Pass(kFence - absl::Seconds(12));
  EXPECT_EQ(c.state(1), RunState::kStopping);
  c.Pass(absl::Seconds(1));
  EXPECT_EQ(c.state(1), RunState::kQueued);
}

TEST(RestartTest, TimeLimitGoesOn) {
  ClusterTester c({}, RunningGang());
  ASSERT_OK(c.Hello(Holding("pc1", {Held({1, 1}, 0)})));
  ASSERT_OK(c.Hello(Holding("pc2", {Held({1, 1}, 1)})));
  c.Pass(absl::Hours(1));
  EXPECT_EQ(c.state(1), RunState::kStopping);
  EXPECT_EQ(c.attempt(1).outcome, AttemptOutcome::kTimedOut);
}

TEST(RestartTest, AClockThatWasSetAheadMeanwhileEndsNoRun) {
  Snapshot durable = RunningGang();
  durable.attempts.at(0).started_at -= absl::Hours(48);
  ClusterTester c({}, durable);
  c.Pass(absl::Seconds(5));
  EXPECT_EQ(c.state(1), RunState::kRunning);
  protocol::HeldAttempt held = Held({1, 1}, 0);
  held.ranks[0].ago.started = absl::Minutes(20);
  ASSERT_OK(c.Hello(Holding("pc1", {held})));
  held = Held({1, 1}, 1);
  held.ranks[0].ago.started = absl::Minutes(19);
  ASSERT_OK(c.Hello(Holding("pc2", {held})));
  c.Pass(absl::Minutes(41) - absl::Milliseconds(1));
  EXPECT_EQ(c.state(1), RunState::kRunning);
  c.Pass(absl::Milliseconds(1));
  EXPECT_EQ(c.attempt(1).outcome, AttemptOutcome::kTimedOut);
}

TEST(RestartTest, ThatRanksHaveMetIsNotSaidAgain) {
  ClusterTester c({}, RunningGang());
  ASSERT_OK(c.Hello(Holding("pc1", {Held({1, 1}, 0)})));
  ASSERT_OK(c.Hello(Holding("pc2", {Held({1, 1}, 1)})));
  const protocol::RendezvousReport all = {
      {1, 1}, {{"10.0.0.pc1", 1000}, {"10.0.0.pc2", 1001}}, "", 0};
  ASSERT_OK(c.Report("pc1", all));
  ASSERT_OK(c.Report("pc1", all));
  EXPECT_THAT(c.TakeEvents("run.connected"), IsEmpty());
}

TEST(RestartTest, AttemptThatWasBeingPreparedIsStoppedAndQueuedAgainForNothing) {
  ClusterTester before;
  before.Join({"pc1", "pc2"});
  before.Submit(Nodes(2));
  ASSERT_OK(before.Prepared(1, "pc1"));

  ClusterTester c({}, before.Durable());
  EXPECT_EQ(c.state(1), RunState::kStopping);
  ASSERT_OK(c.Hello(Holding("pc1", {Held({1, 1}, 0, false)})));
  ASSERT_OK(c.Hello(HelloOf("pc2")));
  EXPECT_THAT(c.TakeMessages(),
              ElementsAre("pc1: stop 1.1 within 30 s: the coordinator restarted while the run was "
                          "being started"));
  ASSERT_OK(c.Returned(1, "pc1"));
  EXPECT_EQ(c.record(1).attempts, 2);
  EXPECT_EQ(c.record(1).losses, 0);
}

// Run 1 has failed on pc2, which was the only node then, and waits to start again.
Snapshot InBackOff() {
  ClusterTester before;
  before.Join({"pc2"});
  RunRequest request = Nodes(1);
  request.max_restarts = 3;
  before.Run(before.Submit(request));
  before.Join({"pc1", "pc3"});
  EXPECT_OK(before.Exit(1, 0, 1));
  EXPECT_OK(before.Returned(1, "pc2"));
  return before.Durable();
}

TEST(RestartTest, ABackOffIsNotCutShortAndTheRunGoesBackToItsNodes) {
  Snapshot durable = InBackOff();
  durable.runs.at(0).retry_at -= absl::Milliseconds(400);

  ClusterTester c({}, durable);
  c.Join({"pc1", "pc3", "pc2"});
  EXPECT_THAT(c.Wait(1), HasSubstr("starts again in 600 ms"));
  c.Pass(absl::Milliseconds(599));
  EXPECT_EQ(c.state(1), RunState::kQueued);
  c.Pass(absl::Milliseconds(1));
  EXPECT_EQ(c.state(1), RunState::kStarting);
  EXPECT_THAT(c.nodes_of(1), ElementsAre("pc2"));
}

TEST(RestartTest, AClockSetBackMakesABackOffNoLongerThanTheLongest) {
  Snapshot durable = InBackOff();
  durable.runs.at(0).retry_at += absl::Hours(24);

  ClusterTester c({}, durable);
  c.Join({"pc2"});
  c.Pass(absl::Minutes(1));
  EXPECT_EQ(c.state(1), RunState::kStarting);
}

TEST(RestartTest, AttemptThatWaitedForSleepersStartsAnew) {
  ClusterTester before;
  before.Join({"pc1"});
  ASSERT_OK(before.Leaving("pc1", "suspend"));
  before.Disconnect("pc1", /*reset=*/true);
  before.Submit(Nodes(1));
  ASSERT_EQ(before.NodeState("pc1"), "waking");

  ClusterTester c({}, before.Durable());
  EXPECT_EQ(c.record(1).attempts, 2);
  EXPECT_EQ(c.NodeState("pc1"), "waking");
}

TEST(RestartTest, StopThatWasUnderWayIsSaidAgainAndKeepsItsCause) {
  ClusterTester before;
  before.Join({"pc1", "pc2"});
  before.Submit(Nodes(2));
  before.Run(1);
  ASSERT_OK(before.Exit(1, 1, 7));
  ASSERT_OK(before.Returned(1, "pc2"));

  ClusterTester c({}, before.Durable());
  ASSERT_OK(c.Hello(HelloOf("pc2")));
  ASSERT_OK(c.Hello(Holding("pc1", {Held({1, 1}, 0)})));
  EXPECT_THAT(c.TakeMessages(),
              ElementsAre("pc1: stop 1.1 within 30 s: rank 1 on pc2 exited with code 7"));
  ASSERT_OK(c.Returned(1, "pc1"));
  EXPECT_EQ(c.state(1), RunState::kFailed);
  EXPECT_EQ(c.record(1).exit_code, 7);
}

TEST(RestartTest, ExitsBeforeAndDuringTheRestartAddUp) {
  ClusterTester before;
  before.Join({"pc1", "pc2"});
  before.Submit(Nodes(2));
  before.Run(1);
  ASSERT_OK(before.Exit(1, 0, 0));
  ASSERT_OK(before.Returned(1, "pc1"));

  ClusterTester c({}, before.Durable());
  ASSERT_OK(c.Hello(HelloOf("pc1")));
  protocol::HeldAttempt held = Held({1, 1}, 1);
  held.ranks[0].exit = protocol::RankExit{0, std::nullopt, false, "", ""};
  held.returned = true;
  ASSERT_OK(c.Hello(Holding("pc2", {held})));
  EXPECT_EQ(c.state(1), RunState::kSucceeded);
}

TEST(RestartTest, CancelThatWasAskedForIsKept) {
  ClusterTester before;
  before.Join({"pc1"});
  before.Submit(Nodes(1));
  before.Run(1);
  ASSERT_OK(before.Cancel(1));

  ClusterTester c({}, before.Durable());
  protocol::HeldAttempt held = Held({1, 1}, 0);
  held.returned = true;
  ASSERT_OK(c.Hello(Holding("pc1", {held})));
  EXPECT_EQ(c.state(1), RunState::kCancelled);
  EXPECT_EQ(c.record(1).reason, "cancelled by anna");
}

// A run was cancelled before it started. pc1 has prepared it, pc2 has not yet.
Snapshot CancelledBeforeItsStart() {
  ClusterTester before;
  before.Join({"pc1", "pc2"});
  before.Submit(Nodes(2));
  EXPECT_OK(before.Prepared(1, "pc1"));
  EXPECT_OK(before.Cancel(1));
  return before.Durable();
}

TEST(RestartTest, WhatWasStoppedBeforeItsStartIsOverWhereItsWorkerDoesNotKnowIt) {
  ClusterTester c({}, CancelledBeforeItsStart());
  ASSERT_OK(c.Hello(HelloOf("pc1")));
  ASSERT_OK(c.Hello(Holding("pc2", {Held({1, 1}, 1, false)})));
  EXPECT_EQ(c.state(1), RunState::kStopping);
  ASSERT_OK(c.Returned(1, "pc2"));
  EXPECT_EQ(c.state(1), RunState::kCancelled);
}

TEST(RestartTest, WhatWasStoppedBeforeItsStartNeedsNoFence) {
  ClusterTester c({}, CancelledBeforeItsStart());
  c.Pass(absl::Seconds(11));
  EXPECT_EQ(c.state(1), RunState::kCancelled);
}

TEST(RestartTest, ReclaimedNodeIsStillReclaimedAndLentInTime) {
  ClusterTester before;
  before.Join({"pc1"});
  ASSERT_OK(before.Reclaim("pc1", absl::Minutes(10)));

  ClusterTester c({}, before.Durable());
  ASSERT_OK(c.Hello(HelloOf("pc1")));
  EXPECT_THAT(c.TakeMessages(), ElementsAre("pc1: reclaimed within 10 s, for 10 min"));
  const RunId run = c.Submit(Nodes(1));
  EXPECT_EQ(c.state(run), RunState::kQueued);
  c.Pass(absl::Minutes(10));
  EXPECT_EQ(c.state(run), RunState::kStarting);
}

TEST(RestartTest, OffNodesAreNotMissed) {
  ClusterTester before;
  before.Join({"pc1"});
  ASSERT_OK(before.Sleep("pc1"));
  before.Disconnect("pc1", /*reset=*/true);

  ClusterTester c({}, before.Durable());
  c.Pass(absl::Minutes(10));
  EXPECT_EQ(c.NodeState("pc1"), "off");
  EXPECT_THAT(c.TakeEvents(), IsEmpty());
}

TEST(RestartTest, RunsThatWaitForAnotherRunStillDo) {
  ClusterTester before;
  before.Join({"pc1"});
  RunRequest second = Nodes(1);
  second.after = before.Submit(Nodes(1));
  before.Submit(second);
  before.Run(1);
  Snapshot snapshot = before.Durable();
  {
    ClusterTester c({}, snapshot);
    EXPECT_EQ(c.Wait(2), "waits for the success of run 1, which is running");
  }
  // The other run ended just before the restart; the store knows how.
  snapshot.attempts.clear();
  snapshot.placements.clear();
  snapshot.ranks.clear();
  snapshot.runs.erase(snapshot.runs.begin());
  ClusterTester c({}, snapshot);
  EXPECT_EQ(c.state(2), RunState::kFailed);
  EXPECT_THAT(c.record(2).reason, HasSubstr("run 1, whose success it waits for"));
}

TEST(RestartTest, TickIsDueAtOnce) {
  FakeClock clock;
  clock.Advance(absl::Seconds(100));
  Cluster cluster(
      {}, RunningGang(), clock.Get(), [](void*, RunId) { return std::optional<RunState>(); },
      nullptr);
  EXPECT_EQ(cluster.NextDeadline(), clock.Get().mono);
  Effects effects;
  cluster.Tick(clock.Get(), &effects);
  EXPECT_EQ(cluster.NextDeadline(), clock.Get().mono + absl::Seconds(11)) << "a lease, and more";
}

// ------------------------------------------------------------------ after a backup was restored

// A backup in which run 1 runs on pc1 and pc2 and run 2 waits. It was restored `ago`.
Snapshot RestoredGang(const ClusterTester& c, absl::Duration ago) {
  Snapshot snapshot = RunningGang();
  snapshot.restored = {.at = c.now().wall - ago, .known_run = 2, .taken_attempt = 1000};
  snapshot.last_run = 100'000;
  return snapshot;
}

ClusterTester AfterRestore(absl::Duration ago) {
  return ClusterTester({}, RestoredGang(ClusterTester(), ago));
}

TEST(RestoredTest, WhatRunsRunsOnAndNumbersThatMayBeTakenAreNotUsed) {
  ClusterTester c = AfterRestore(absl::Seconds(1));
  ASSERT_OK(c.Hello(Holding("pc1", {Held({1, 1}, 0)})));
  ASSERT_OK(c.Hello(Holding("pc2", {Held({1, 1}, 1)})));
  EXPECT_EQ(c.state(1), RunState::kRunning);
  EXPECT_THAT(c.TakeMessages(), IsEmpty());
  EXPECT_EQ(c.Submit(Nodes(1)), 100'001);
  c.Finish(1);
  EXPECT_EQ(c.state(1), RunState::kSucceeded);
}

TEST(RestoredTest, AnAttemptThatTheBackupDoesNotKnowIsStoppedAndItsNumberNotUsed) {
  ClusterTester c = AfterRestore(absl::Minutes(10));
  ASSERT_OK(c.Hello(Holding("pc1", {Held({1, 2}, 0)})));
  EXPECT_THAT(c.TakeMessages(),
              ElementsAre("pc1: stop 1.2 within 30 s: this attempt is over", "pc1: forget 1.2"));
  ASSERT_OK(c.Hello(Holding("pc2", {Held({77, 1}, 0)})));
  EXPECT_THAT(c.TakeMessages(),
              ElementsAre("pc2: stop 77.1 within 30 s: this attempt is over", "pc2: forget 77.1"));
  ASSERT_OK(c.ReturnedOver("pc1", {1, 2}));
  ASSERT_OK(c.ReturnedOver("pc2", {77, 1}));
  EXPECT_THAT(c.TakeMessages(), ElementsAre("pc1: forget 1.2", "pc2: forget 77.1"));
  c.Pass(absl::Seconds(340));
  EXPECT_EQ(c.record(1).attempts, 1001);
}

TEST(RestoredTest, RunsOfTheBackupWaitUntilUnknownRanksHaveStoppedThemselves) {
  ClusterTester c = AfterRestore(absl::Minutes(1));
  c.Join({"pc3"});
  EXPECT_THAT(c.Wait(2), HasSubstr("a backup was restored"));
  EXPECT_THAT(c.Wait(2), HasSubstr("waits 5 min 32 s"));
  const RunId later = c.Submit(Nodes(1));
  EXPECT_EQ(c.state(later), RunState::kStarting) << "no other attempt of it can be anywhere";
  c.Run(later);
  c.Finish(later);
  c.Pass(kFence - absl::Seconds(1));
  EXPECT_EQ(c.state(2), RunState::kQueued) << "its ranks may have their whole grace";
  c.Pass(absl::Seconds(1));
  EXPECT_EQ(c.state(2), RunState::kStarting);
}

TEST(RestoredTest, WhateverTheClockSaysTheWholeTimeIsWaited) {
  for (const absl::Duration ago : {-absl::Hours(24 * 365), absl::Hours(24 * 365)}) {
    ClusterTester c = AfterRestore(ago);
    c.Join({"pc3"});
    c.Pass(kFence - absl::Seconds(1));
    EXPECT_EQ(c.state(2), RunState::kQueued);
    c.Pass(absl::Seconds(1));
    EXPECT_EQ(c.state(2), RunState::kStarting);
  }
}

TEST(RestoredTest, ItIsWaitedOnce) {
  ClusterTester before = AfterRestore(absl::Seconds(1));
  before.Pass(kFence);
  EXPECT_EQ(before.state(2), RunState::kQueued);
  ClusterTester c({}, before.Durable());
  c.Join({"pc3"});
  EXPECT_EQ(c.state(2), RunState::kStarting);
}

TEST(SeenTest, ARestartedCoordinatorKnowsWhenItHeardItsNodesLast) {
  ClusterTester before;
  before.Join({"pc1"});
  before.Pass(absl::Minutes(2));
  const absl::Time stopped = before.now().wall;
  before.SaveSeen();
  EXPECT_EQ(ClusterTester({}, before.Durable()).View("pc1").record.last_seen, stopped);
}

TEST(SeenTest, AClockThatIsSetMeanwhileMakesNoNodeOlder) {
  ClusterTester before;
  before.Join({"pc1"});
  before.SaveSeen();
  Snapshot snapshot = before.Durable();
  snapshot.clock_set = absl::Hours(1);
  EXPECT_EQ(ClusterTester({}, snapshot).View("pc1").record.last_seen,
            before.now().wall + absl::Hours(1));
}

TEST(SeenTest, OneThatCrashedKnowsItToWithinMinutes) {
  ClusterTester before;
  before.Join({"pc1", "pc2"});
  before.Pass(absl::Hours(5));
  const absl::Time crashed = before.now().wall;
  const ClusterTester c({}, before.Durable());
  EXPECT_GE(c.View("pc1").record.last_seen, crashed - absl::Minutes(6));
  EXPECT_GE(c.View("pc2").record.last_seen, crashed - absl::Minutes(6));
}

}  // namespace
}  // namespace hpc::coordinator::testing
