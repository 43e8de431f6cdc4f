// Nodes are put to sleep.
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
using ::testing::StartsWith;

TEST(SleepTest, APcThatCannotSleepIsRefusedBeforeItsRanksAreStopped) {
  ClusterTester c;
  protocol::Hello hello = HelloOf("pc1");
  hello.inventory.sleep_trouble = "logind answers 'na'";
  ASSERT_OK(c.Hello(hello));
  const RunId run = c.Submit(Nodes(1));
  c.Run(run);
  EXPECT_THAT(c.Sleep("pc1"),
              StatusIs(kPrecondition, HasSubstr("cannot be put to sleep: logind answers 'na'")));
  EXPECT_EQ(c.state(run), RunState::kRunning);
}

TEST(SleepTest, IdleNodeIsToldAtOnceAndIsOffWhenItIsGone) {
  ClusterTester c;
  c.Join({"pc1"});
  c.TakeEvents();
  ASSERT_OK(c.Sleep("pc1"));
  EXPECT_THAT(c.TakeMessages(), ElementsAre("pc1: sleep"));
  EXPECT_EQ(c.NodeState("pc1"), "falling-asleep");
  ASSERT_OK(c.Sleep("pc1")) << "asking again is fine";
  c.Disconnect("pc1", /*reset=*/true);
  EXPECT_EQ(c.NodeState("pc1"), "off");
  EXPECT_THAT(c.TakeEvents(),
              ElementsAre("node.sleep asked to sleep by anna", "node.off has gone to sleep"));
  c.Pass(absl::Minutes(1));
  EXPECT_THAT(c.TakeEvents(), IsEmpty()) << "off is not lost";
  EXPECT_THAT(c.Sleep("pc1"), StatusIs(kPrecondition, "pc1 is off already"));
}

TEST(SleepTest, ItsOwnersPcIsNotPutToSleep) {
  ClusterTester c;
  c.Join({"pc1"});
  ASSERT_OK(c.Reclaim("pc1"));
  EXPECT_THAT(c.Sleep("pc1"), StatusIs(kPrecondition, HasSubstr("its owner has taken it back")));
  EXPECT_EQ(c.NodeState("pc1"), "reclaimed");
}

TEST(SleepTest, IsDrainedFirst) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  const RunId run = c.Submit(Nodes(2));
  c.Run(run);
  c.TakeMessages();
  ASSERT_OK(c.Sleep("pc2"));
  EXPECT_EQ(c.NodeState("pc2"), "draining");
  EXPECT_THAT(c.TakeMessages(), ElementsAre("pc1: stop 1.1 within 30 s: pc2 goes to sleep",
                                            "pc2: stop 1.1 within 30 s: pc2 goes to sleep"));
  ASSERT_OK(c.Returned(run, "pc2"));
  EXPECT_THAT(c.TakeMessages(), ElementsAre("pc2: sleep"));
  ASSERT_OK(c.Returned(run, "pc1"));
  EXPECT_EQ(c.state(run), RunState::kQueued);
  EXPECT_EQ(c.record(run).losses, 0);
}

// What a node that is drained for sleep says about the run that it still has.
protocol::Hello Draining(AttemptRef ref) {
  protocol::Hello hello = HelloOf("pc1");
  hello.incarnation = 2;
  protocol::HeldAttempt held;
  held.ref = ref;
  held.started = true;
  held.ranks.push_back({0, 1000, std::nullopt, {}});
  hello.attempts = {held};
  return hello;
}

TEST(SleepTest, IsDrainedStillAfterARestartOfTheCoordinator) {
  ClusterTester before;
  before.Join({"pc1"});
  const RunId run = before.Submit(Nodes(1));
  before.Run(run);
  ASSERT_OK(before.Sleep("pc1"));
  ClusterTester c({}, before.Durable());
  ASSERT_OK(c.Hello(Draining({run, 1})));
  EXPECT_EQ(c.NodeState("pc1"), "draining");
  EXPECT_THAT(c.TakeMessages(), ElementsAre(HasSubstr("pc1: stop 1.1")));
  ASSERT_OK(c.Returned(run, "pc1"));
  EXPECT_THAT(c.TakeMessages(), ElementsAre("pc1: forget 1.1", "pc1: sleep"));
  EXPECT_EQ(c.record(run).attempts, 1);
}

TEST(SleepTest, IsDrainedStillByTheNextWorker) {
  ClusterTester c;
  c.Join({"pc1"});
  const RunId run = c.Submit(Nodes(1));
  c.Run(run);
  ASSERT_OK(c.Sleep("pc1"));
  c.Disconnect("pc1", /*reset=*/true);
  ASSERT_OK(c.Hello(Draining({run, 1})));
  EXPECT_EQ(c.NodeState("pc1"), "draining");
  c.TakeMessages();
  ASSERT_OK(c.Returned(run, "pc1"));
  EXPECT_THAT(c.TakeMessages(), ElementsAre("pc1: forget 1.1", "pc1: sleep"));
}

TEST(SleepTest, ANodeThatIsLostBeforeItIsFreeIsAskedForNothingMore) {
  ClusterTester c;
  c.Join({"pc1"});
  c.Run(c.Submit(Nodes(1)));
  ASSERT_OK(c.Sleep("pc1"));
  c.TakeEvents();
  c.Pass(absl::Seconds(6), {"pc1"});
  EXPECT_EQ(c.NodeState("pc1"), "lost");
  EXPECT_THAT(c.TakeEvents("node.sleep"),
              ElementsAre("node.sleep-failed was lost before it was free to go to sleep"));
}

TEST(SleepTest, WhatNothingWillWakeIsSaid) {
  ClusterTester c;
  protocol::Hello hello = HelloOf("pc1");
  protocol::NetworkInterface& eth0 = hello.inventory.interfaces[0];
  const auto said = [&] {
    EXPECT_OK(c.Hello(hello));
    const std::string why = c.PutToSleep("pc1")->why_not_woken;
    EXPECT_OK(c.Wake("pc1"));
    c.Disconnect("pc1", /*reset=*/true);
    ++hello.incarnation;
    return why;
  };
  EXPECT_EQ(said(), "") << "nobody has asked the card";
  eth0.wake_on_lan = protocol::WakeOnLan::kOn;
  EXPECT_EQ(said(), "");
  eth0.wake_on_lan = protocol::WakeOnLan::kOff;
  EXPECT_EQ(said(),
            "Wake-on-LAN is off on eth0 of pc1, so that nothing will wake it: 'ethtool -s eth0 wol "
            "g' there turns it on, where the card and the BIOS can");
  eth0.mac.clear();
  EXPECT_THAT(said(), StartsWith("pc1 cannot be woken by hpcctl: its worker knows of no network "));
  hello.inventory.can_wake_by_hook = true;
  EXPECT_EQ(said(), "");
}

TEST(SleepTest, DrainsWithinTheRunsOwnGraceWhereThatIsShorter) {
  ClusterTester c;
  c.Join({"pc1"});
  RunRequest request = Nodes(1);
  request.stop_grace = absl::Seconds(2);
  c.Run(c.Submit(request));
  c.TakeMessages();
  ASSERT_OK(c.Sleep("pc1"));
  EXPECT_THAT(c.TakeMessages(), ElementsAre("pc1: stop 1.1 within 2 s: pc1 goes to sleep"));
}

TEST(SleepTest, OwnerWhoCannotWaitShortensTheGraceOfTheWholeGangAndNobodyLengthensIt) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  const RunId run = c.Submit(Nodes(2));
  c.Run(run);
  ASSERT_OK(c.Sleep("pc2"));
  c.TakeMessages();
  c.Pass(absl::Seconds(5));
  ASSERT_OK(c.Reclaim("pc1"));
  EXPECT_THAT(c.TakeMessages(), ElementsAre("pc1: reclaimed within 10 s",
                                            "pc1: stop 1.1 within 10 s: pc2 goes to sleep",
                                            "pc2: stop 1.1 within 10 s: pc2 goes to sleep"));
  c.Pass(absl::Seconds(4));
  ASSERT_OK(c.Cancel(run));
  ASSERT_OK(c.Reclaim("pc2"));
  EXPECT_THAT(c.TakeMessages(), ElementsAre("pc2: reclaimed within 10 s")) << "6 s are left";
  c.Disconnect("pc1", /*reset=*/false);
  protocol::Hello hello = HelloOf("pc1");
  hello.attempts.push_back({{run, 1}, true});
  ASSERT_OK(c.Hello(hello));
  EXPECT_THAT(c.TakeMessages(), ElementsAre("pc1: reclaimed within 6 s",
                                            "pc1: stop 1.1 within 6 s: pc2 goes to sleep"));
}

TEST(SleepTest, SilenceProvesItToo) {
  ClusterTester c;
  c.Join({"pc1"});
  ASSERT_OK(c.Sleep("pc1"));
  c.Pass(absl::Seconds(6), {"pc1"});
  EXPECT_EQ(c.NodeState("pc1"), "off");
}

TEST(SleepTest, NodeThatSaysTwiceThatItGoesIsOffOnceAndWokenIfSomebodyWantsIt) {
  ClusterTester c;
  c.Join({"pc1"});
  ASSERT_OK(c.Sleep("pc1"));
  ASSERT_OK(c.Wake("pc1"));
  c.TakeEvents();
  ASSERT_OK(c.Leaving("pc1", "goes to sleep"));
  ASSERT_OK(c.Leaving("pc1", "its worker was stopped"));
  EXPECT_EQ(c.NodeState("pc1"), "waking");
  EXPECT_THAT(c.TakeEvents(), ElementsAre("node.off said that it is leaving: goes to sleep",
                                          "node.wake asked to wake by anna"));
}

TEST(SleepTest, NodeThatStaysIsOnAgainAndItIsSaid) {
  ClusterTester c;
  c.Join({"pc1"});
  ASSERT_OK(c.Sleep("pc1"));
  c.TakeEvents();
  c.Pass(absl::Minutes(1));
  EXPECT_EQ(c.NodeState("pc1"), "idle");
  EXPECT_THAT(c.TakeEvents(),
              ElementsAre("node.sleep-failed is still here 1 min after it was to sleep"));
}

// A power command that does nothing is taken for one that works, until it turns out that the PC is
// still heard.
TEST(SleepTest, NodeThatSaysThatItGoesAndTalksOnIsOnAgainAndItIsSaid) {
  ClusterTester c;
  c.Join({"pc1"});
  ASSERT_OK(c.Sleep("pc1"));
  ASSERT_OK(c.Leaving("pc1", "asked to sleep by anna"));
  c.TakeEvents();
  c.Pass(absl::Seconds(15));
  EXPECT_EQ(c.NodeState("pc1"), "off");
  c.Pass(absl::Seconds(1));
  EXPECT_EQ(c.NodeState("pc1"), "idle");
  EXPECT_THAT(c.TakeEvents(),
              ElementsAre("node.sleep-failed is still here 16 s after it was to sleep"));
}

TEST(SleepTest, NodeThatTalksOnWhileItIsBeingWokenIsGivenItsWork) {
  ClusterTester c;
  c.Join({"pc1"});
  ASSERT_OK(c.Leaving("pc1", "suspend"));
  c.Pass(absl::Seconds(5));
  const RunId run = c.Submit(Nodes(1));
  c.TakeMessages();
  c.Pass(absl::Seconds(10));
  EXPECT_EQ(c.NodeState("pc1"), "waking");
  c.Pass(absl::Seconds(1));
  EXPECT_EQ(c.NodeState("pc1"), "busy");
  EXPECT_THAT(c.TakeMessages(), ElementsAre(HasSubstr("pc1: prepare 1.1")));
  EXPECT_EQ(c.record(run).attempts, 1);
}

TEST(SleepTest, NodeThatFallsSilentAfterItsLastWordIsWokenAtTheUsualTimes) {
  ClusterTester c;
  c.Join({"pc1"});
  ASSERT_OK(c.Leaving("pc1", "suspend"));
  ASSERT_OK(c.Wake("pc1"));
  std::vector<int> sent_at;
  for (int second = 0; second <= 60; ++second) {
    for (size_t i = c.TakeWakes().size(); i > 0; --i) sent_at.push_back(second);
    c.Pass(absl::Seconds(1), {"pc1"});
  }
  EXPECT_THAT(sent_at, ElementsAre(0, 1, 3, 10, 30));
  EXPECT_EQ(c.NodeState("pc1"), "waking");
}

TEST(SleepTest, HelloWithoutProofOfSleepMeansThatItDidNotSleep) {
  ClusterTester c;
  c.Join({"pc1"});
  ASSERT_OK(c.Sleep("pc1"));
  c.TakeEvents("nothing");
  ASSERT_OK(c.Hello(HelloOf("pc1")));
  EXPECT_EQ(c.NodeState("pc1"), "idle");
  EXPECT_THAT(c.TakeEvents("node.sleep"),
              ElementsAre("node.sleep-failed was told to sleep, and is back without having slept"));
}

TEST(SleepTest, FailedPowerCommandIsToldAndIsTheNodesReasonUntilItIsAskedAgain) {
  ClusterTester c;
  c.Join({"pc1"});
  ASSERT_OK(c.Sleep("pc1"));
  ASSERT_OK(c.Wake("pc1"));
  c.TakeEvents();
  ASSERT_OK(c.Report(
      "pc1", protocol::SleepFailed{"the power command \"suspend\" failed with code 1: no logind"}));
  const std::string why =
      "could not be put to sleep: the power command \"suspend\" failed with code 1: no logind";
  EXPECT_EQ(c.NodeState("pc1"), "idle");
  EXPECT_EQ(c.View("pc1").reason, why);
  EXPECT_THAT(c.TakeEvents(), ElementsAre("node.sleep-failed " + why));
  c.Pass(absl::Minutes(2));
  EXPECT_THAT(c.TakeEvents(), IsEmpty());
  ASSERT_OK(c.Sleep("pc1"));
  EXPECT_EQ(c.View("pc1").reason, "asked to sleep by anna");
}

TEST(SleepTest, WorkerThatConnectsAgainMayHaveAnotherPowerCommand) {
  ClusterTester c;
  c.Join({"pc1"});
  ASSERT_OK(c.Sleep("pc1"));
  ASSERT_OK(c.Report("pc1", protocol::SleepFailed{"no logind"}));
  c.Disconnect("pc1", /*reset=*/true);
  ASSERT_OK(c.Hello(HelloOf("pc1")));
  EXPECT_EQ(c.View("pc1").reason, "");
}

TEST(SleepTest, RunThatWaitedForTheNodeStartsWhenItsSleepFails) {
  ClusterTester c;
  c.Join({"pc1"});
  ASSERT_OK(c.Sleep("pc1"));
  const RunId run = c.Submit(Nodes(1));
  EXPECT_EQ(c.state(run), RunState::kQueued);
  ASSERT_OK(c.Report("pc1", protocol::SleepFailed{"no logind"}));
  EXPECT_EQ(c.state(run), RunState::kStarting);
  EXPECT_EQ(c.View("pc1").reason, "") << "that it is busy has another reason";
}

TEST(SleepTest, NodeThatIsNotConnectedCannotBePutToSleep) {
  ClusterTester c;
  c.Join({"pc1"});
  c.Pass(absl::Seconds(6), {"pc1"});
  EXPECT_THAT(c.Sleep("pc1"),
              StatusIs(kPrecondition, "pc1 cannot be put to sleep: it is not connected"));
  EXPECT_THAT(c.Sleep("pc7"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("no node pc7")));
}

TEST(SleepTest, RunThatHadToLeaveDoesNotWakeTheNodeAgainButAnotherRunDoes) {
  ClusterTester c;
  c.Join({"pc1"});
  const RunId run = c.Submit(Nodes(1));
  c.Run(run);
  ASSERT_OK(c.Sleep("pc1"));
  ASSERT_OK(c.Returned(run, "pc1"));
  c.Disconnect("pc1", /*reset=*/true);
  EXPECT_EQ(c.NodeState("pc1"), "off");
  EXPECT_EQ(
      c.Wait(run),
      "needs 1 node, 0 are free: pc1 was put to sleep (`hpcctl wake pc1` lets the run go on)");
  const RunId other = c.Submit(Nodes(1));
  EXPECT_EQ(c.NodeState("pc1"), "waking");
  EXPECT_EQ(c.state(other), RunState::kStarting);
}

TEST(SleepTest, RunThatHadToLeaveDoesNotWakeTheNodeAfterARestartEither) {
  ClusterTester before;
  before.Join({"pc1", "pc2"});
  const RunId run = before.Submit(Nodes(2));
  before.Run(run);
  ASSERT_OK(before.Sleep("pc2"));
  before.AllReturned(run);
  before.Disconnect("pc2", /*reset=*/true);
  ClusterTester c({}, before.Durable());
  ASSERT_OK(c.Hello(HelloOf("pc1")));
  c.Pass(absl::Seconds(10));
  EXPECT_EQ(c.NodeState("pc2"), "off");
  EXPECT_THAT(c.TakeWakes(), IsEmpty());
  EXPECT_EQ(
      c.Wait(run),
      "needs 2 nodes, 1 is free: pc2 was put to sleep (`hpcctl wake pc2` lets the run go on)");
  ASSERT_OK(c.Wake("pc2"));
  protocol::Hello awake = HelloOf("pc2");
  awake.boot_id = "boot-2";
  ASSERT_OK(c.Hello(awake));
  EXPECT_EQ(c.state(run), RunState::kStarting);
  EXPECT_THAT(c.record(run).leave_asleep, IsEmpty()) << "it may wake the node from its next sleep";
}

TEST(SleepTest, RunThatWasBeingStoppedAlreadyDoesNotWakeTheNodeAfterARestartEither) {
  ClusterTester before;
  before.Join({"pc1", "pc2"});
  const RunId run = before.Submit(Nodes(2));
  before.Run(run);
  ASSERT_OK(before.Reclaim("pc1"));
  ASSERT_OK(before.Sleep("pc2"));
  ClusterTester c({}, before.Durable());
  EXPECT_THAT(c.record(run).leave_asleep, ElementsAre("pc2"));
}

TEST(SleepTest, SaysWhichQueuedRunWillWakeTheNodeAgain) {
  ClusterTester c;
  c.Join({"pc1"});
  const RunId run = c.Submit(Nodes(1));
  c.Run(run);
  const RunId next = c.Submit(Nodes(1));
  c.TakeEvents();
  EXPECT_EQ(c.PutToSleep("pc1")->woken_for, next);
  EXPECT_EQ(c.PutToSleep("pc1")->woken_for, next) << "asking again is fine";
  EXPECT_THAT(c.TakeEvents("node."),
              ElementsAre("node.sleep asked to sleep by anna; stops 1 run there first",
                          "node.sleep run 2 waits for a node like it, and will wake it"));
  ASSERT_OK(c.Returned(run, "pc1"));
  c.Disconnect("pc1", /*reset=*/true);
  EXPECT_THAT(c.TakeEvents("node."),
              ElementsAre("node.off has gone to sleep", "node.wake run 2 needs it"));
}

TEST(SleepTest, NamesNoRunThatWaitsForMoreThanTheNode) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  c.Run(c.Submit(Gpus(1)));
  c.Submit(Nodes(2));
  ASSERT_EQ(c.NodeState("pc2"), "idle");
  EXPECT_EQ(c.PutToSleep("pc2")->woken_for, 0);
}

TEST(SleepTest, RunThatIsStoppedForItMayLeaveAnotherOneNothingButTheSleepingNode) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  c.Pass(absl::Minutes(1));
  const RunId run = c.Submit(Nodes(1, 2));
  c.Run(run);
  const RunId next = c.Submit(Nodes(1));
  EXPECT_EQ(c.PutToSleep("pc2")->woken_for, next);
  c.AllReturned(run);
  c.Disconnect("pc2", /*reset=*/true);
  EXPECT_THAT(c.nodes_of(run), ElementsAre("pc1"));
  EXPECT_THAT(c.nodes_of(next), ElementsAre("pc2"));
}

TEST(SleepTest, NodeThatCannotBeWokenIsWokenByNobody) {
  ClusterTester c;
  protocol::Hello hello = HelloOf("pc1");
  hello.inventory.interfaces.clear();
  ASSERT_OK(c.Hello(hello));
  c.Run(c.Submit(Nodes(1)));
  c.Submit(Nodes(1));
  EXPECT_EQ(c.PutToSleep("pc1")->woken_for, 0);
}

}  // namespace
}  // namespace hpc::coordinator::testing
