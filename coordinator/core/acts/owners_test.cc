// Owners take their PCs back and lend them again.
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
using ::testing::Not;

// A gang that runs on pc1 and pc2.
class ReclaimTest : public ::testing::Test {
 protected:
  ReclaimTest() {
    c.Join({"pc1", "pc2"});
    run = c.Submit(Nodes(2));
    c.Run(run);
    c.TakeMessages();
    c.TakeEvents();
  }
  ClusterTester c;
  RunId run;
};

TEST_F(ReclaimTest, GangIsStoppedAndQueuedAgainForNothing) {
  ASSERT_OK(c.Reclaim("pc2"));
  const std::string why = "pc2 was reclaimed by anna: a game, until lent";
  EXPECT_THAT(c.TakeMessages(),
              ElementsAre("pc2: reclaimed within 10 s", "pc1: stop 1.1 within 10 s: " + why,
                          "pc2: stop 1.1 within 10 s: " + why));
  EXPECT_EQ(c.NodeState("pc2"), "returning");
  c.Pass(absl::Milliseconds(1240));
  ASSERT_OK(c.Returned(run, "pc2"));
  EXPECT_EQ(c.NodeState("pc2"), "reclaimed");
  EXPECT_THAT(c.TakeEvents("node"),
              ElementsAre("node.reclaimed reclaimed by anna: a game, until lent; stops 1 run there",
                          "node.returned pc2 returned to its owner 1.2 s after it was asked for"));
  ASSERT_OK(c.Returned(run, "pc1"));
  EXPECT_EQ(c.state(run), RunState::kQueued);
  EXPECT_EQ(c.record(run).failures + c.record(run).losses, 0);
  EXPECT_EQ(c.attempt(run).outcome, AttemptOutcome::kReclaimed);
  EXPECT_EQ(c.Wait(run), "needs 2 nodes, 1 is free: pc2 is reclaimed by its owner");
}

TEST_F(ReclaimTest, NothingIsPlacedThereUntilItIsLent) {
  ASSERT_OK(c.Reclaim("pc2"));
  c.AllReturned(run);
  c.Pass(absl::Hours(1));
  EXPECT_EQ(c.record(run).attempts, 1);
  c.TakeMessages();
  c.TakeEvents();
  ASSERT_OK(c.Lend("pc2"));
  EXPECT_EQ(c.record(run).attempts, 2);
  EXPECT_THAT(c.TakeMessages(), Contains("pc2: lent"));
  EXPECT_THAT(c.TakeEvents("node"), ElementsAre("node.lent lent by anna"));
  ASSERT_OK(c.Lend("pc2"));
  EXPECT_THAT(c.TakeEvents(), IsEmpty()) << "lending twice is lending once";
}

TEST_F(ReclaimTest, IsLentByItselfWhenTheTimeIsOver) {
  ASSERT_OK(c.Reclaim("pc2", absl::Hours(2)));
  c.AllReturned(run);
  c.Pass(absl::Hours(2) - absl::Seconds(1));
  EXPECT_EQ(c.record(run).attempts, 1);
  c.TakeEvents();
  c.Pass(absl::Seconds(1));
  EXPECT_EQ(c.record(run).attempts, 2);
  EXPECT_THAT(c.TakeEvents("node"),
              ElementsAre("node.lent lent by the end of the time its owner asked for"));
}

TEST_F(ReclaimTest, AskingAgainChangesTimeAndReason) {
  ASSERT_OK(c.Reclaim("pc2"));
  c.TakeMessages();
  c.TakeEvents();
  ASSERT_OK(c.Reclaim("pc2", absl::Minutes(30)));
  EXPECT_THAT(c.TakeMessages(), ElementsAre("pc2: reclaimed within 10 s, for 30 min"));
  EXPECT_THAT(c.TakeEvents(), IsEmpty());
  EXPECT_EQ(c.node("pc2").reclaimed_until, c.now().wall + absl::Minutes(30));
}

TEST_F(ReclaimTest, AskingAgainWithLessGraceHastensTheStop) {
  ASSERT_OK(c.Reclaim("pc2", std::nullopt, absl::Seconds(20)));
  c.Pass(absl::Seconds(1));
  c.TakeMessages();
  ASSERT_OK(c.Reclaim("pc2", std::nullopt, absl::Seconds(2)));
  const auto messages = c.TakeMessages();
  EXPECT_THAT(messages, Contains("pc2: reclaimed within 2 s"));
  EXPECT_THAT(messages, Contains(::testing::StartsWith("pc2: stop 1.1 within 2 s")));
  ASSERT_OK(c.Reclaim("pc2", std::nullopt, absl::Seconds(30)));
  EXPECT_THAT(c.TakeMessages(), ElementsAre("pc2: reclaimed within 2 s")) << "it only hastens";
}

TEST_F(ReclaimTest, AskingAgainWithoutAGraceLeavesTheTimeThatWasGiven) {
  ASSERT_OK(c.Reclaim("pc2", std::nullopt, absl::Seconds(20)));
  EXPECT_THAT(c.TakeMessages(), Contains("pc2: reclaimed within 20 s"));
  c.Pass(absl::Seconds(1));
  c.TakeMessages();
  ASSERT_OK(c.Reclaim("pc2", absl::Hours(2)));
  EXPECT_THAT(c.TakeMessages(), ElementsAre("pc2: reclaimed within 19 s, for 2 h"));
}

TEST_F(ReclaimTest, StopThatIsUnderWayIsHastened) {
  ASSERT_OK(c.Cancel(run));
  c.TakeMessages();
  c.Pass(absl::Seconds(1));
  ASSERT_OK(c.Reclaim("pc2"));
  EXPECT_THAT(c.TakeMessages(), ElementsAre("pc2: reclaimed within 10 s",
                                            "pc1: stop 1.1 within 10 s: cancelled by anna",
                                            "pc2: stop 1.1 within 10 s: cancelled by anna"));
  c.AllReturned(run);
  EXPECT_EQ(c.state(run), RunState::kCancelled);
}

TEST_F(ReclaimTest, OwnerAtThePcItselfIsAnsweredOnceItIsDurable) {
  ASSERT_OK(c.Report("pc2", protocol::OwnerChanged{.reclaimed = true}));
  EXPECT_EQ(c.NodeState("pc2"), "returning");
  const std::string why = "pc2 was reclaimed by its owner, on the PC itself, until lent";
  EXPECT_THAT(c.TakeMessages(),
              ElementsAre("pc1: stop 1.1 within 10 s: " + why, "pc2: stop 1.1 within 10 s: " + why,
                          "pc2: reclaimed within 10 s"));
  ASSERT_OK(c.Report("pc2", protocol::OwnerChanged{.reclaimed = false}));
  EXPECT_THAT(c.TakeMessages(), ElementsAre("pc2: lent"));
  EXPECT_FALSE(c.node("pc2").reclaimed);
}

TEST(OwnerTest, UnusedPcIsReturnedAtOnce) {
  ClusterTester c;
  c.Join({"pc1"});
  c.TakeEvents();
  ASSERT_OK(c.Reclaim("pc1"));
  EXPECT_THAT(c.TakeEvents(),
              ElementsAre("node.reclaimed reclaimed by anna: a game, until lent",
                          "node.returned pc1 returned to its owner at once: nothing ran there"));
}

TEST(OwnerTest, UnknownNodeIsRefusedAndTheNearestNamed) {
  ClusterTester c;
  c.Join({"garage", "kitchen"});
  EXPECT_THAT(c.Reclaim("kitchn"),
              StatusIs(absl::StatusCode::kNotFound, "no node kitchn; did you mean kitchen?"));
  EXPECT_THAT(c.Lend("x"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("no node x")));
}

TEST(OwnerTest, WishThatChangedWhileThePcWasAwayIsTakenOver) {
  ClusterTester c;
  c.Join({"pc1"});
  protocol::Hello hello = HelloOf("pc1");
  hello.owner_changed = true;
  hello.reclaimed = true;
  hello.reclaim_left = absl::Minutes(20);
  hello.reclaim_reason = "video call";
  ASSERT_OK(c.Hello(hello));
  EXPECT_TRUE(c.node("pc1").reclaimed);
  EXPECT_EQ(c.node("pc1").reclaim_reason, "video call");
  EXPECT_EQ(c.node("pc1").reclaimed_until, c.now().wall + absl::Minutes(20));
  EXPECT_THAT(c.TakeMessages(), IsEmpty()) << "it knows";
  hello.reclaimed = false;
  hello.reclaim_left.reset();
  ASSERT_OK(c.Hello(hello));
  EXPECT_FALSE(c.node("pc1").reclaimed);
}

TEST(OwnerTest, WishThatChangedHereWhileThePcWasAwayIsTold) {
  ClusterTester c;
  c.Join({"pc1"});
  c.Disconnect("pc1", /*reset=*/false);
  ASSERT_OK(c.Reclaim("pc1", absl::Hours(1)));
  EXPECT_THAT(c.TakeMessages(), IsEmpty());
  ASSERT_OK(c.Hello(HelloOf("pc1")));
  EXPECT_THAT(c.TakeMessages(), ElementsAre("pc1: reclaimed within 10 s, for 1 h"));
  c.Disconnect("pc1", /*reset=*/false);
  ASSERT_OK(c.Lend("pc1"));
  protocol::Hello hello = HelloOf("pc1");
  hello.reclaimed = true;
  ASSERT_OK(c.Hello(hello));
  EXPECT_THAT(c.TakeMessages(), ElementsAre("pc1: lent"));
}

// The gang of ReclaimTest. pc2 is being drained for sleep, and its ranks have their grace.
class DrainedTest : public ReclaimTest {
 protected:
  DrainedTest() {
    EXPECT_OK(c.Sleep("pc2"));
    c.Pass(absl::Seconds(1));
    c.TakeMessages();
    c.TakeEvents();
  }
  // The ranks on pc2 end. The PC is not told to sleep: it waits for its owner.
  void ExpectStaysOn() {
    c.TakeMessages();
    ASSERT_OK(c.Returned(run, "pc2"));
    EXPECT_THAT(c.TakeMessages(), IsEmpty());
    EXPECT_EQ(c.NodeState("pc2"), "reclaimed");
    EXPECT_EQ(c.node("pc2").power, Power::kOn);
  }
};

const char kStaysOn[] = "node.sleep-failed does not go to sleep: its owner has taken it back";

TEST_F(DrainedTest, ReclaimThroughTheCoordinatorEndsIt) {
  ASSERT_OK(c.Reclaim("pc2"));
  EXPECT_THAT(c.TakeEvents(),
              ElementsAre("node.reclaimed reclaimed by anna: a game, until lent; stops 1 run there",
                          kStaysOn));
  EXPECT_EQ(c.View("pc2").reason, "its owner has taken it back: a game, until it is lent");
  ExpectStaysOn();
}

TEST_F(DrainedTest, OwnerAtThePcItselfEndsIt) {
  ASSERT_OK(c.Report("pc2", protocol::OwnerChanged{.reclaimed = true}));
  EXPECT_THAT(
      c.TakeEvents(),
      ElementsAre("node.reclaimed reclaimed by its owner, on the PC itself, until lent; stops "
                  "1 run there",
                  kStaysOn));
  ExpectStaysOn();
}

TEST_F(DrainedTest, WishOfAHelloEndsIt) {
  c.Disconnect("pc2", /*reset=*/false);
  protocol::Hello hello = HelloOf("pc2");
  hello.owner_changed = true;
  hello.reclaimed = true;
  hello.attempts.push_back({{run, 1}, true});
  ASSERT_OK(c.Hello(hello));
  EXPECT_THAT(c.TakeEvents("node.sleep"), ElementsAre(kStaysOn));
  ExpectStaysOn();
}

TEST_F(DrainedTest, WishOfAHelloEndsItWhenNothingIsLeftThere) {
  c.Disconnect("pc2", /*reset=*/false);
  protocol::Hello hello = HelloOf("pc2");
  hello.owner_changed = true;
  hello.reclaimed = true;
  hello.attempts.push_back({{run, 1}, true, true});
  ASSERT_OK(c.Hello(hello));
  EXPECT_THAT(c.TakeMessages(), Not(Contains("pc2: sleep")));
  EXPECT_EQ(c.node("pc2").power, Power::kOn);
}

TEST_F(DrainedTest, OwnersWishHoldsWhileThePcIsAway) {
  c.Disconnect("pc2", /*reset=*/false);
  ASSERT_OK(c.Reclaim("pc2"));
  EXPECT_THAT(c.TakeEvents("node.sleep"), ElementsAre(kStaysOn));
  protocol::Hello hello = HelloOf("pc2");
  hello.attempts.push_back({{run, 1}, true});
  ASSERT_OK(c.Hello(hello));
  ExpectStaysOn();
}

// Only the PC knows whether its power command has begun.
TEST(OwnerTest, PcThatWasToldToSleepRefusesItselfWhatItsOwnerDoesNotWant) {
  ClusterTester c;
  c.Join({"pc1"});
  ASSERT_OK(c.Sleep("pc1"));
  ASSERT_OK(c.Report("pc1", protocol::OwnerChanged{.reclaimed = true}));
  EXPECT_EQ(c.node("pc1").power, Power::kFallingAsleep);
  c.TakeEvents();
  ASSERT_OK(c.Report("pc1", protocol::SleepFailed{"its owner has taken it back"}));
  EXPECT_THAT(c.TakeEvents(), ElementsAre("node.sleep-failed could not be put to sleep: its owner "
                                          "has taken it back"));
  EXPECT_EQ(c.NodeState("pc1"), "reclaimed");
  EXPECT_EQ(c.node("pc1").power, Power::kOn);
}

}  // namespace
}  // namespace hpc::coordinator::testing
