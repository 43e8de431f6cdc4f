// Leases, lost nodes, fencing, and workers that come back with what they still have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "common/status_matchers.h"
#include "coordinator/core/testing/cluster_tester.h"

namespace hpc::coordinator::testing {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::_;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// A gang that runs on pc1 and pc2; pc3 is free.
class LivenessTest : public ::testing::Test {
 protected:
  LivenessTest() {
    c.Join({"pc1", "pc2", "pc3"});
    RunRequest request = Nodes(2);
    run = c.Submit(request);
    c.Run(run);
    c.TakeMessages();
    c.TakeEvents();
  }
  protocol::Hello Back(const std::string& node, std::vector<protocol::HeldAttempt> held) {
    protocol::Hello hello = HelloOf(node);
    hello.incarnation = 2;
    hello.attempts = std::move(held);
    return hello;
  }

  ClusterTester c;
  RunId run;
};

TEST(HelloTest, NewNodeJoinsAndIsToldTheTimes) {
  ClusterTester c;
  const auto welcome = c.Hello(HelloOf("pc1", 2));
  ASSERT_OK(welcome);
  EXPECT_EQ(welcome->lease, absl::Seconds(6));
  EXPECT_EQ(welcome->heartbeat_interval, absl::Seconds(2));
  EXPECT_EQ(welcome->stop_after_disconnect, absl::Minutes(5));
  EXPECT_THAT(c.TakeEvents(), ElementsAre("node.joined joined from 10.0.0.pc1, 2 GPUs"));
  EXPECT_EQ(c.NodeState("pc1"), "idle");
  EXPECT_EQ(c.cluster().NodeNames(), std::vector<std::string>{"pc1"});
}

TEST(HelloTest, WhatWasForTheConnectionBeforeIsNotSaidOnTheNewOne) {
  ClusterTester c;
  c.Join({"pc1"});
  Effects round;
  ASSERT_OK(
      c.cluster().Apply(c.now(), {"pc1", 1}, protocol::OwnerChanged{.reclaimed = true}, &round));
  protocol::Hello hello = HelloOf("pc1");  // it was lent again meanwhile
  hello.owner_changed = true;
  ASSERT_OK(c.cluster().Hello(c.now(), hello, &round).status());
  EXPECT_THAT(round.messages, IsEmpty());
}

TEST(HelloTest, SecondWorkerOfOneNameIsRefusedWhileTheFirstLives) {
  ClusterTester c;
  c.Join({"pc1"});
  protocol::Hello other = HelloOf("pc1");
  other.incarnation = 2;
  other.address = "10.0.0.99";
  other.boot_id = "another machine";
  EXPECT_THAT(c.Hello(other), StatusIs(absl::StatusCode::kAlreadyExists,
                                       "a worker named pc1 is connected from 10.0.0.pc1; stop that "
                                       "one, or give this one (10.0.0.99) a name of its own"));
  c.Pass(absl::Seconds(7), {"pc1"});
  EXPECT_OK(c.Hello(other));
}

TEST(HelloTest, PcThatHasRestartedReplacesItsOwnOldConnectionAtOnce) {
  ClusterTester c;
  c.Join({"pc1"});
  protocol::Hello again = HelloOf("pc1");
  again.incarnation = 2;
  again.boot_id = "boot-2";
  EXPECT_OK(c.Hello(again));
}

TEST(HelloTest, NameThatIsNoNameIsRefused) {
  ClusterTester c;
  EXPECT_THAT(c.Hello(HelloOf("pc 1")), StatusIs(absl::StatusCode::kInvalidArgument, _));
  EXPECT_THAT(c.cluster().NodeNames(), IsEmpty());
}

TEST(HelloTest, DevicesThatChangeAreTakenOver) {
  ClusterTester c;
  c.Join({"pc1"});
  const RunId first = c.Submit(Gpus(1));
  const RunId second = c.Submit(Gpus(1));
  EXPECT_EQ(c.state(second), RunState::kQueued);
  c.TakeEvents();
  ASSERT_OK(c.Report("pc1", HelloOf("pc1", 2).inventory));
  EXPECT_THAT(c.TakeEvents("node"), ElementsAre("node.changed has 2 GPUs now"));
  EXPECT_EQ(c.state(first), RunState::kStarting);
  EXPECT_EQ(c.state(second), RunState::kStarting);
}

TEST_F(LivenessTest, HeartbeatsKeepANodeAlive) {
  c.Pass(absl::Minutes(10));
  EXPECT_EQ(c.state(run), RunState::kRunning);
  EXPECT_EQ(c.NodeState("pc1"), "busy");
}

TEST_F(LivenessTest, SilentNodeIsLostWhenItsLeaseRunsOutAndSurvivorsAreStoppedAtOnce) {
  c.Pass(absl::Seconds(5), {"pc2"});
  EXPECT_THAT(c.TakeMessages(), IsEmpty());
  c.Pass(absl::Seconds(1), {"pc2"});
  EXPECT_EQ(c.NodeState("pc2"), "lost");
  EXPECT_THAT(c.TakeMessages(),
              ElementsAre("pc1: stop 1.1 within 30 s: nothing heard from pc2 for 6 s"));
  EXPECT_EQ(c.attempt(run).outcome, AttemptOutcome::kNodeLost);
  EXPECT_THAT(c.TakeEvents("node"), ElementsAre("node.lost nothing heard from pc2 for 6 s"));
}

TEST_F(LivenessTest, NextAttemptWaitsUntilTheLostNodeHasStoppedItsRanksByItself) {
  c.Pass(absl::Seconds(6), {"pc2"});
  ASSERT_OK(c.Returned(run, "pc1"));
  EXPECT_EQ(c.state(run), RunState::kStopping);
  EXPECT_EQ(c.Wait(run),
            "waits for the devices of pc2, which is lost and stops its ranks in 5 min 26 s at the "
            "latest: nothing heard from pc2 for 6 s");
  c.Pass(kFence - absl::Seconds(7), {"pc2"});
  EXPECT_EQ(c.record(run).attempts, 1);
  c.Pass(absl::Seconds(1), {"pc2"});
  EXPECT_EQ(c.record(run).attempts, 2);
  EXPECT_THAT(c.nodes_of(run), ElementsAre("pc1", "pc3"));
  EXPECT_EQ(c.record(run).losses, 1);
  EXPECT_EQ(c.record(run).failures, 0);
}

TEST_F(LivenessTest, RanksOfAnAttemptThatWasReplacedGetNoTimeToSave) {
  c.Pass(absl::Seconds(6), {"pc2"});
  ASSERT_OK(c.Returned(run, "pc1"));
  c.Pass(kFence - absl::Seconds(6), {"pc2"});
  ASSERT_EQ(c.record(run).attempts, 2);
  c.TakeMessages();
  ASSERT_OK(c.Hello(Back("pc2", {Held({run, 1}, 1)})));
  EXPECT_THAT(
      c.TakeMessages(),
      ElementsAre("pc2: stop 1.1 within 500 ms: attempt 1.2 runs in its place", "pc2: forget 1.1"));
}

TEST_F(LivenessTest, LostNodeThatComesBackIsToldToStopAndThenTheRunGoesOn) {
  c.Pass(absl::Seconds(6), {"pc2"});
  ASSERT_OK(c.Returned(run, "pc1"));
  c.Pass(absl::Seconds(10), {"pc2"});
  c.TakeMessages();
  ASSERT_OK(c.Hello(Back("pc2", {Held({run, 1}, 1)})));
  EXPECT_THAT(c.TakeMessages(),
              ElementsAre("pc2: stop 1.1 within 20 s: nothing heard from pc2 for 6 s"));
  ASSERT_OK(c.Returned(run, "pc2"));
  EXPECT_EQ(c.record(run).attempts, 2);
  EXPECT_THAT(c.nodes_of(run), ElementsAre("pc1", "pc2")) << "as before";
}

TEST_F(LivenessTest, WhatAnUnreachableNodeSaysLaterIsNoLongerHeard) {
  c.Pass(absl::Seconds(6), {"pc2"});
  EXPECT_THAT(
      c.cluster().Heard(c.now(), {"pc2", 1}),
      StatusIs(absl::StatusCode::kFailedPrecondition, "pc2 is not connected: say hello first"));
}

TEST_F(LivenessTest, FailuresThatFollowTheLossOfANodeAreNotTheProgramsFault) {
  c.Pass(absl::Seconds(1), {"pc2"});
  protocol::RankExit exit;
  exit.exit_code = 1;
  exit.message = "Connection reset by peer";
  ASSERT_OK(c.Exit(run, 0, exit));
  c.Pass(absl::Seconds(1), {"pc2"});
  EXPECT_EQ(c.attempt(run).outcome, AttemptOutcome::kProgramFailed) << "as far as is known";
  c.Pass(absl::Seconds(4), {"pc2"});
  EXPECT_EQ(c.attempt(run).outcome, AttemptOutcome::kNodeLost);
  EXPECT_THAT(c.record(run).reason, HasSubstr("nothing heard from pc2 for 6 s, and then rank 0"));
}

TEST_F(LivenessTest, ACrashOfWhichNobodyKnowsWhetherTheLossCameFirstIsNotSaidToFollowIt) {
  c.Pass(absl::Seconds(1), {"pc2"});
  protocol::RankExit crash;
  crash.signal = SIGSEGV;
  ASSERT_OK(c.Exit(run, 0, crash));
  c.Pass(absl::Seconds(5), {"pc2"});
  EXPECT_EQ(
      c.record(run).reason,
      "nothing heard from pc2 for 6 s, and at about the same time rank 0 on pc1 was killed by "
      "SIGSEGV");
}

TEST_F(LivenessTest, FailureBeforeTheLossStaysTheCause) {
  ASSERT_OK(c.Exit(run, 0, 1));
  c.Pass(absl::Seconds(3));
  c.Pass(absl::Seconds(6), {"pc2"});
  EXPECT_EQ(c.NodeState("pc2"), "lost");
  EXPECT_EQ(c.attempt(run).outcome, AttemptOutcome::kProgramFailed);
}

TEST_F(LivenessTest, WorkerThatRestartsWithinTheGraceChangesNothing) {
  c.Disconnect("pc2", /*reset=*/true);
  EXPECT_EQ(c.NodeState("pc2"), "reconnecting");
  c.Pass(absl::Milliseconds(2900));
  c.TakeMessages();
  ASSERT_OK(c.Hello(Back("pc2", {Held({run, 1}, 1)})));
  EXPECT_EQ(c.state(run), RunState::kRunning);
  EXPECT_THAT(c.TakeMessages(), IsEmpty());
}

TEST_F(LivenessTest, ResetConnectionIsALossSoonerThanSilence) {
  c.Disconnect("pc2", /*reset=*/true);
  c.Pass(absl::Seconds(3));
  EXPECT_EQ(c.NodeState("pc2"), "lost");
  EXPECT_EQ(c.state(run), RunState::kStopping);
  const std::string why =
      "the worker of pc2 is gone: it closed its connection and was not back within the reconnect "
      "grace of 3 s";
  EXPECT_EQ(c.record(run).reason, why);
  EXPECT_THAT(c.TakeEvents("node.lost"), ElementsAre("node.lost " + why));
}

TEST_F(LivenessTest, ResetAfterALongSilenceIsStillSilence) {
  c.Pass(absl::Seconds(5), {"pc2"});
  c.Disconnect("pc2", /*reset=*/true);
  c.Pass(absl::Seconds(1));
  EXPECT_EQ(c.record(run).reason, "nothing heard from pc2 for 6 s");
}

TEST_F(LivenessTest, RanksOfAWorkerThatIsBackTooLateAreStoppedAndItIsSaid) {
  c.Disconnect("pc2", /*reset=*/true);
  c.Pass(absl::Seconds(4));
  c.TakeMessages();
  c.TakeEvents();
  ASSERT_OK(c.Hello(Back("pc2", {Held({run, 1}, 1)})));
  EXPECT_THAT(c.TakeMessages(), ElementsAre(HasSubstr("pc2: stop 1.1 within 29 s")));
  EXPECT_THAT(c.TakeEvents("attempt"),
              ElementsAre("attempt.orphaned pc2 is back with 1 rank of an attempt that was given "
                          "up: told to end"));
  ASSERT_OK(c.Hello(Back("pc2", {Held({run, 1}, 1)})));
  EXPECT_THAT(c.TakeEvents("attempt"), IsEmpty()) << "once";
}

TEST_F(LivenessTest, NothingIsPlacedWhereAnAttemptThatWasGivenUpStillEnds) {
  protocol::Hello hello = HelloOf("pc5");
  hello.attempts = {Held({77, 1}, 0)};
  ASSERT_OK(c.Hello(hello));
  RunRequest request = Nodes(1);
  request.node_list = {"pc5"};
  const RunId other = c.Submit(request);
  EXPECT_THAT(c.Wait(other), HasSubstr("pc5 still ends attempt 77.1, which was given up"));
  c.TakeMessages();
  ASSERT_OK(c.ReturnedOver("pc5", {77, 1}));
  EXPECT_THAT(c.TakeMessages(), Contains("pc5: forget 77.1"));
  EXPECT_EQ(c.state(other), RunState::kStarting);
}

TEST_F(LivenessTest, BrokenConnectionWithoutProofWaitsForTheLease) {
  c.Pass(absl::Seconds(1));
  c.Disconnect("pc2", /*reset=*/false);
  c.Pass(absl::Seconds(5));
  EXPECT_EQ(c.NodeState("pc2"), "reconnecting");
  c.Pass(absl::Seconds(1));
  EXPECT_EQ(c.NodeState("pc2"), "lost");
}

TEST_F(LivenessTest, NothingIsPlacedOnANodeThatIsNotConnected) {
  c.Disconnect("pc3", /*reset=*/true);
  const RunId other = c.Submit(Nodes(1));
  EXPECT_EQ(c.state(other), RunState::kQueued);
  EXPECT_THAT(c.Wait(other), HasSubstr("pc3 is reconnecting"));
}

TEST_F(LivenessTest, ExitsThatHappenedMeanwhileAreTakenOver) {
  ASSERT_OK(c.Exit(run, 0, 0));
  ASSERT_OK(c.Returned(run, "pc1"));
  c.Disconnect("pc2", /*reset=*/true);
  c.Pass(absl::Seconds(1));
  protocol::HeldAttempt held = Held({run, 1}, 1);
  held.ranks[0].exit = protocol::RankExit{0, std::nullopt, false, "", ""};
  held.ranks[0].ago.ended = absl::Milliseconds(500);
  held.returned = true;
  ASSERT_OK(c.Hello(Back("pc2", {held})));
  EXPECT_EQ(c.state(run), RunState::kSucceeded);
  EXPECT_THAT(c.TakeMessages(), Contains("pc2: forget 1.1"));
}

TEST_F(LivenessTest, FailureThatHappenedMeanwhileStopsTheGang) {
  c.Disconnect("pc2", /*reset=*/true);
  c.Pass(absl::Seconds(1));
  protocol::HeldAttempt held = Held({run, 1}, 1);
  held.ranks[0].exit = protocol::RankExit{std::nullopt, 11, false, "", ""};
  ASSERT_OK(c.Hello(Back("pc2", {held})));
  EXPECT_EQ(c.record(run).reason, "rank 1 on pc2 was killed by SIGSEGV");
  EXPECT_THAT(c.TakeMessages(),
              Contains("pc1: stop 1.1 within 30 s: rank 1 on pc2 was killed by SIGSEGV"));
}

TEST_F(LivenessTest, FailureWithoutTheStoreThatAWorkerLostIsNotTheProgramsFault) {
  c.Disconnect("pc1", /*reset=*/true);
  protocol::HeldAttempt held = Held({run, 1}, 0);
  held.store_lost = absl::ZeroDuration();
  ASSERT_OK(c.Hello(Back("pc1", {held})));
  EXPECT_EQ(c.state(run), RunState::kRunning) << "its ranks have met";
  protocol::RankExit exit;
  exit.exit_code = 1;
  exit.message = "Broken pipe";
  ASSERT_OK(c.Exit(run, 1, exit));
  EXPECT_EQ(c.attempt(run).outcome, AttemptOutcome::kNodeLost);
  EXPECT_EQ(c.record(run).reason,
            "its rendezvous store was lost with the worker of pc1, and then rank 1 on pc2 exited "
            "with code 1: Broken pipe");
  c.AllReturned(run);
  EXPECT_EQ(c.record(run).failures, 0);
  EXPECT_EQ(c.record(run).attempts, 2);
}

TEST_F(LivenessTest, APartThatHasReturnedIsKeptForTheOthersAndItsStoreMayBeLostToo) {
  ASSERT_OK(c.Exit(run, 0, 0));
  ASSERT_OK(c.Returned(run, "pc1"));
  protocol::HeldAttempt held = Held({run, 1}, 0);
  held.ranks[0].exit = protocol::RankExit{.exit_code = 0};
  held.returned = true;
  c.TakeMessages();
  c.Disconnect("pc1", /*reset=*/true);
  ASSERT_OK(c.Hello(Back("pc1", {held})));
  EXPECT_THAT(c.TakeMessages(), IsEmpty()) << "pc2 may still use the store of pc1";
  held.store_lost = absl::ZeroDuration();
  c.Disconnect("pc1", /*reset=*/true);
  ASSERT_OK(c.Hello(Back("pc1", {held})));
  EXPECT_EQ(c.state(run), RunState::kRunning);
  ASSERT_OK(c.Exit(run, 1, 1));
  EXPECT_EQ(c.attempt(run).outcome, AttemptOutcome::kNodeLost);
  EXPECT_THAT(c.record(run).reason, HasSubstr("store was lost with the worker of pc1"));
}

TEST_F(LivenessTest, AttemptThatTheWorkerNoLongerHasIsLostThere) {
  c.Disconnect("pc2", /*reset=*/true);
  ASSERT_OK(c.Hello(Back("pc2", {})));
  EXPECT_EQ(c.record(run).reason,
            "pc2: its worker no longer has the attempt; its ranks may still run there, and stop by "
            "themselves in 5 min 32 s at the latest");
  EXPECT_EQ(c.attempt(run).outcome, AttemptOutcome::kNodeLost);
}

TEST_F(LivenessTest, WhatAWorkerHasForgottenMayStillRunSoTheNextAttemptWaitsForTheFence) {
  c.Disconnect("pc2", /*reset=*/true);
  c.TakeMessages();
  ASSERT_OK(c.Hello(Back("pc2", {})));
  EXPECT_THAT(c.TakeMessages(), ElementsAre(HasSubstr("pc1: stop 1.1"))) << "pc2 has nothing";
  ASSERT_OK(c.Returned(run, "pc1"));
  ASSERT_OK(c.Returned(run, "pc2")) << "of an attempt it does not know: proves nothing";
  EXPECT_EQ(c.state(run), RunState::kStopping);
  EXPECT_THAT(c.Wait(run), HasSubstr("waits for the devices of pc2, whose worker no longer has the "
                                     "attempt; its ranks stop by themselves in 5 min 32"));
  EXPECT_THAT(c.Wait(c.Submit(Nodes(1))),
              StartsWith("1st in the queue, behind run 1 which needs 2 nodes; what is free is kept "
                         "for it, which starts in 5 min 32"));
  c.Pass(kFence - absl::Seconds(1));
  EXPECT_EQ(c.record(run).attempts, 1);
  c.Pass(absl::Seconds(1));
  EXPECT_THAT(c.TakeEvents("attempt.fenced"),
              ElementsAre("attempt.fenced pc2 has not known of it for 5 min 32 s: its ranks have "
                          "stopped by themselves by now"));
  EXPECT_EQ(c.record(run).attempts, 2);
}

TEST_F(LivenessTest, WhatALostNodeHasForgottenKeepsItsFence) {
  c.Pass(absl::Seconds(10), {"pc2"});
  ASSERT_OK(c.Returned(run, "pc1"));
  ASSERT_OK(c.Hello(Back("pc2", {})));
  c.Pass(kFence - absl::Seconds(11));
  EXPECT_EQ(c.record(run).attempts, 1);
  c.Pass(absl::Seconds(1));
  EXPECT_EQ(c.record(run).attempts, 2);
}

TEST_F(LivenessTest, WhatAWorkerHasForgottenIsFreeWhenItHadEnded) {
  ASSERT_OK(c.Exit(run, 1, 0));
  c.Disconnect("pc2", /*reset=*/true);
  ASSERT_OK(c.Hello(Back("pc2", {})));
  EXPECT_EQ(c.state(run), RunState::kRunning);
  ASSERT_OK(c.Exit(run, 0, 0));
  ASSERT_OK(c.Returned(run, "pc1"));
  EXPECT_EQ(c.state(run), RunState::kSucceeded);
}

TEST_F(LivenessTest, WhatAWorkerFindsAgainIsTakenOver) {
  c.Disconnect("pc2", /*reset=*/true);
  ASSERT_OK(c.Hello(Back("pc2", {})));
  ASSERT_OK(c.Returned(run, "pc1"));
  c.TakeMessages();
  ASSERT_OK(c.Hello(Back("pc2", {Held({run, 1}, 1)})));
  EXPECT_THAT(c.TakeMessages(), ElementsAre(HasSubstr("pc2: stop 1.1 within 30 s: pc2: its")));
  ASSERT_OK(c.Returned(run, "pc2"));
  EXPECT_EQ(c.record(run).attempts, 2);
}

TEST_F(LivenessTest, RestartOfThePcProvesThatWhatItsWorkerHadForgottenIsGone) {
  c.Disconnect("pc2", /*reset=*/true);
  ASSERT_OK(c.Hello(Back("pc2", {})));
  ASSERT_OK(c.Returned(run, "pc1"));
  protocol::Hello hello = Back("pc2", {});
  hello.boot_id = "boot-2";
  hello.incarnation = 3;
  ASSERT_OK(c.Hello(hello));
  EXPECT_EQ(c.record(run).attempts, 2);
}

TEST_F(LivenessTest, RestartOfThePcIsNamedAsTheReason) {
  protocol::Hello hello = Back("pc2", {});
  hello.boot_id = "boot-2";
  ASSERT_OK(c.Hello(hello));
  EXPECT_EQ(c.record(run).reason, "pc2: the PC has restarted");
}

TEST_F(LivenessTest, SupervisorThatDiedMeanwhileEndsTheAttempt) {
  c.Disconnect("pc2", /*reset=*/true);
  protocol::HeldAttempt held = Held({run, 1}, 1);
  held.halt = {protocol::HaltKind::kSupervisorLost, "the supervisor was killed", {}, {}};
  held.returned = true;
  ASSERT_OK(c.Hello(Back("pc2", {held})));
  EXPECT_EQ(c.record(run).reason, "pc2: the supervisor was killed");
}

TEST_F(LivenessTest, AttemptsThatAreOverAreStoppedAndForgotten) {
  protocol::HeldAttempt running = Held({77, 1}, 0);
  protocol::HeldAttempt returned = Held({78, 3}, 0);
  returned.returned = true;
  protocol::Hello hello = HelloOf("pc4");
  hello.attempts = {running, returned};
  c.TakeMessages();
  ASSERT_OK(c.Hello(hello));
  EXPECT_THAT(c.TakeMessages(), ElementsAre("pc4: stop 77.1 within 30 s: this attempt is over",
                                            "pc4: forget 77.1", "pc4: forget 78.3"));
  EXPECT_THAT(c.TakeEvents("attempt"),
              ElementsAre("attempt.orphaned pc4 is back with 1 rank of an attempt that was given "
                          "up: told to end"));
}

TEST(LivenessStartTest, ConnectionThatBreaksDuringTheStartRollsBack) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  const RunId run = c.Submit(Nodes(2));
  ASSERT_OK(c.Prepared(run, "pc1"));
  c.Disconnect("pc2", /*reset=*/false);
  protocol::Hello hello = HelloOf("pc2");
  protocol::HeldAttempt held;
  held.ref = {run, 1};
  held.ranks.push_back({1, 0, std::nullopt, {}});
  hello.attempts = {held};
  c.TakeMessages();
  ASSERT_OK(c.Hello(hello));
  const std::string why = "the connection to pc2 broke while the run was started";
  EXPECT_THAT(c.TakeMessages(), ElementsAre("pc1: stop 1.1 within 30 s: " + why,
                                            "pc2: stop 1.1 within 30 s: " + why));
}

TEST(LivenessStartTest, StartThatWasSaidIntoABrokenConnectionIsTakenOver) {
  ClusterTester c;
  c.Join({"pc1"});
  const RunId run = c.Submit(Nodes(1));
  ASSERT_OK(c.Prepared(run, "pc1"));
  c.Disconnect("pc1", /*reset=*/false);
  protocol::Hello hello = HelloOf("pc1");
  hello.attempts = {Held({run, 1}, 0)};
  ASSERT_OK(c.Hello(hello));
  EXPECT_EQ(c.state(run), RunState::kRunning);
}

TEST(LivenessStartTest, NodeLostBeforeTheWordToStartNeedsNoFence) {
  ClusterTester c;
  c.Join({"pc1", "pc2", "pc3"});
  RunRequest request = Nodes(2);
  const RunId run = c.Submit(request);
  ASSERT_OK(c.Prepared(run, "pc1"));
  c.Pass(absl::Seconds(6), {"pc2"});
  ASSERT_OK(c.Returned(run, "pc1"));
  EXPECT_EQ(c.record(run).attempts, 2);
  EXPECT_THAT(c.nodes_of(run), ElementsAre("pc1", "pc3"));
}

TEST(LeavingTest, NodeThatSaysItLeavesIsOffAndNotAFailure) {
  ClusterTester c;
  c.Join({"pc1"});
  c.TakeEvents();
  ASSERT_OK(c.Leaving("pc1", "shutdown"));
  c.Disconnect("pc1", /*reset=*/true);
  EXPECT_EQ(c.NodeState("pc1"), "off");
  c.Pass(absl::Minutes(1));
  EXPECT_THAT(c.TakeEvents(), ElementsAre("node.off said that it is leaving: shutdown"));
}

TEST(LeavingTest, ItsRunsAreQueuedAgainForNothing) {
  ClusterTester c;
  c.Join({"pc1", "pc2", "pc3"});
  const RunId run = c.Submit(Nodes(2));
  c.Run(run);
  ASSERT_OK(c.Leaving("pc1", "suspend"));
  EXPECT_EQ(c.attempt(run).outcome, AttemptOutcome::kReclaimed);
  ASSERT_OK(c.Returned(run, "pc1"));
  ASSERT_OK(c.Returned(run, "pc2"));
  EXPECT_EQ(c.record(run).losses, 0);
  EXPECT_EQ(c.record(run).attempts, 2);
  EXPECT_THAT(c.nodes_of(run), ElementsAre("pc3", "pc2"));
}

TEST(LeavingTest, NodeThatLeavesWithRanksIsFenced) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  const RunId run = c.Submit(Nodes(1));
  c.Run(run);
  ASSERT_OK(c.Leaving("pc1", "suspend"));
  c.Disconnect("pc1", /*reset=*/false);
  c.Pass(kFence - absl::Seconds(1));
  EXPECT_EQ(c.record(run).attempts, 1);
  c.Pass(absl::Seconds(1));
  EXPECT_EQ(c.record(run).attempts, 2);
  EXPECT_THAT(c.nodes_of(run), ElementsAre("pc2"));
}

TEST(StandstillTest, ACoordinatorThatComesLateToADeadlineFirstReadsWhatLiesThere) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  c.StandStill(absl::Seconds(7.2));
  EXPECT_EQ(c.NodeState("pc1"), "idle");
  c.Pass(absl::Milliseconds(299), {"pc2"});
  EXPECT_EQ(c.NodeState("pc2"), "idle");
  c.Pass(absl::Milliseconds(1), {"pc2"});
  EXPECT_EQ(c.NodeState("pc1"), "idle") << "its heartbeat was read meanwhile";
  EXPECT_EQ(c.NodeState("pc2"), "lost");
}

TEST(StandstillTest, ItReadsFirstAlsoWhereTheDeadlinePassesAsItGoesOn) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  c.StandStill(absl::Seconds(5.99));
  ASSERT_OK(c.cluster().Heard(c.now(), {"pc1", 1}));
  c.Pass(absl::Milliseconds(20), {"pc1", "pc2"});
  EXPECT_EQ(c.NodeState("pc2"), "idle") << "its heartbeat is read next";
  c.Pass(absl::Milliseconds(310), {"pc1", "pc2"});
  EXPECT_EQ(c.NodeState("pc2"), "lost") << "there was none";
  EXPECT_EQ(c.NodeState("pc1"), "idle");
}

TEST(StandstillTest, CoordinatorThatStoodStillItselfGivesNodesAnotherLease) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  const RunId run = c.Submit(Nodes(1));
  c.Run(run);
  c.StandStill(absl::Seconds(20));
  EXPECT_EQ(c.NodeState("pc1"), "busy");
  c.Pass(absl::Seconds(6), {"pc1"});
  EXPECT_EQ(c.NodeState("pc1"), "lost") << "nothing came after all";
  c.Pass(kFence - absl::Seconds(7), {"pc1"});
  EXPECT_EQ(c.record(run).attempts, 1) << "it may have been heard for as long as we were away";
  c.Pass(absl::Seconds(1), {"pc1"});
  EXPECT_EQ(c.record(run).attempts, 2);
}

TEST(FenceTest, CountsTheGraceThatTheWorkerGivesItsRanks) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  RunRequest request = Nodes(1);
  request.stop_grace = absl::Minutes(2);
  const RunId run = c.Submit(request);
  c.Run(run);
  c.Disconnect("pc1", /*reset=*/false);
  c.Pass(absl::Minutes(7) + absl::Seconds(1));
  EXPECT_EQ(c.record(run).attempts, 1);
  c.Pass(absl::Seconds(1));
  EXPECT_EQ(c.record(run).attempts, 2);
}

}  // namespace
}  // namespace hpc::coordinator::testing
