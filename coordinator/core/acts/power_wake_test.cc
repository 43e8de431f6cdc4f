// Nodes that are off are woken, and are given work.
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
using ::testing::Not;
using ::testing::SizeIs;

// pc1 and pc2; pc2 has been put to sleep.
class PowerTest : public ::testing::Test {
 protected:
  PowerTest() {
    c.Join({"pc1", "pc2"});
    EXPECT_OK(c.Sleep("pc2"));
    c.Disconnect("pc2", /*reset=*/false);
    c.TakeMessages();
    c.TakeEvents();
  }
  protocol::Hello Booted() {
    protocol::Hello hello = HelloOf("pc2");
    hello.incarnation = 2;
    hello.boot_id = "boot-2";
    return hello;
  }

  ClusterTester c;
};

TEST_F(PowerTest, WakePacketsAreRepeatedAndBackIsProvedByANewBoot) {
  ASSERT_OK(c.Wake("pc2"));
  EXPECT_EQ(c.NodeState("pc2"), "waking");
  std::vector<int> sent_at;
  for (int second = 0; second <= 60; ++second) {
    for (const WakeNode& wake : c.TakeWakes()) {
      EXPECT_EQ(wake.node, "pc2");
      EXPECT_EQ(wake.packet, static_cast<int32_t>(sent_at.size()));
      EXPECT_THAT(wake.interfaces, SizeIs(1));
      sent_at.push_back(second);
    }
    c.Pass(absl::Seconds(1));
  }
  EXPECT_THAT(sent_at, ElementsAre(0, 1, 3, 10, 30));
  ASSERT_OK(c.Wake("pc2")) << "asking again is fine";
  EXPECT_THAT(c.TakeWakes(), IsEmpty());
  ASSERT_OK(c.Hello(Booted()));
  EXPECT_EQ(c.NodeState("pc2"), "idle");
  EXPECT_THAT(c.TakeEvents(),
              ElementsAre("node.wake asked to wake by anna",
                          "node.connected connected from 10.0.0.pc2, 1 GPU; it has restarted; not "
                          "heard for 1 min 1 s",
                          "node.awake is awake, 1 min 1 s after the first packet"));
}

TEST_F(PowerTest, ResumedFromSuspendIsProofToo) {
  ASSERT_OK(c.Wake("pc2"));
  protocol::Hello hello = HelloOf("pc2");
  hello.resumed = true;
  c.Pass(absl::Seconds(3));
  ASSERT_OK(c.Hello(hello));
  EXPECT_THAT(c.TakeEvents("node.awake"),
              ElementsAre("node.awake is awake, 3 s after the first packet"));
}

TEST_F(PowerTest, NodeThatSomebodySwitchesOnIsTaken) {
  ASSERT_OK(c.Hello(Booted()));
  EXPECT_EQ(c.NodeState("pc2"), "idle");
  EXPECT_THAT(c.TakeEvents("node.awake"), ElementsAre("node.awake came back by itself"));
}

TEST_F(PowerTest, NodeThatDoesNotWakeIsOffAgain) {
  ASSERT_OK(c.Wake("pc2"));
  c.TakeEvents();
  c.Pass(absl::Minutes(3));
  EXPECT_EQ(c.NodeState("pc2"), "off");
  EXPECT_THAT(c.TakeEvents(),
              ElementsAre("node.wake-failed did not wake within 3 min after 5 packets"));
}

TEST_F(PowerTest, OffNodeIsGivenWorkAndPreparedWhenItIsThere) {
  const RunId run = c.Submit(Nodes(2));
  EXPECT_EQ(c.state(run), RunState::kStarting);
  EXPECT_EQ(c.attempt(run).state, AttemptState::kWaking);
  EXPECT_THAT(c.TakeWakes(), SizeIs(1));
  EXPECT_THAT(c.TakeMessages(), IsEmpty());
  EXPECT_THAT(c.TakeEvents("node.wake"), ElementsAre("node.wake run 1 needs it"));
  c.Pass(absl::Seconds(34));
  EXPECT_EQ(c.Wait(run), "waits for pc2 to wake up, since 34 s");
  protocol::Hello hello = Booted();
  hello.address = "10.0.0.77";
  ASSERT_OK(c.Hello(hello));
  EXPECT_THAT(c.TakeMessages(),
              ElementsAre("pc1: prepare 1.1 rank 0+1/2", "pc2: prepare 1.1 rank 1+1/2"));
  EXPECT_EQ(c.placements(run)[1].address, "10.0.0.77") << "it may have another address now";
}

TEST_F(PowerTest, AnotherNodeIsTakenWhenOneDoesNotWake) {
  const RunId run = c.Submit(Nodes(2));
  c.Pass(absl::Minutes(2));
  c.Join({"pc3"});
  c.Pass(absl::Minutes(1) + absl::Seconds(2));
  EXPECT_EQ(c.record(run).attempts, 2);
  EXPECT_THAT(c.nodes_of(run), ElementsAre("pc1", "pc3"));
  EXPECT_EQ(c.record(run).losses, 1);
}

TEST_F(PowerTest, NodeThatDidNotWakeIsLeftAloneForAWhile) {
  const RunId run = c.Submit(Nodes(2));
  c.Pass(absl::Minutes(3) + absl::Seconds(5));
  EXPECT_EQ(c.state(run), RunState::kQueued);
  EXPECT_EQ(c.Wait(run), "needs 2 nodes, 1 is free: pc2 is off and did not wake lately");
  c.Pass(absl::Minutes(10));
  EXPECT_EQ(c.record(run).attempts, 2);
  EXPECT_EQ(c.NodeState("pc2"), "waking");
}

TEST(WakeTest, WakeWhileFallingAsleepWaitsUntilItIsOff) {
  ClusterTester c;
  c.Join({"pc1"});
  ASSERT_OK(c.Sleep("pc1"));
  ASSERT_OK(c.Wake("pc1"));
  EXPECT_THAT(c.TakeWakes(), IsEmpty());
  c.Disconnect("pc1", /*reset=*/true);
  EXPECT_EQ(c.NodeState("pc1"), "waking");
  EXPECT_THAT(c.TakeWakes(), SizeIs(1));
}

TEST_F(PowerTest, IsWokenStillAfterARestartOfTheCoordinator) {
  ASSERT_OK(c.Wake("pc2"));
  ClusterTester later({}, c.Durable());
  later.Pass(absl::Seconds(1));
  EXPECT_EQ(later.NodeState("pc2"), "waking");
  EXPECT_THAT(later.TakeWakes(), SizeIs(2));
  ASSERT_OK(later.Hello(Booted()));
  EXPECT_EQ(later.NodeState("pc2"), "idle");
}

TEST(WakeTest, WakeWhileDrainingKeepsItOn) {
  ClusterTester c;
  c.Join({"pc1"});
  const RunId run = c.Submit(Nodes(1));
  c.Run(run);
  ASSERT_OK(c.Sleep("pc1"));
  ASSERT_OK(c.Wake("pc1"));
  c.TakeMessages();
  ASSERT_OK(c.Returned(run, "pc1"));
  EXPECT_THAT(c.TakeMessages(), ElementsAre("pc1: forget 1.1", "pc1: prepare 1.2 rank 0+1/1"));
}

TEST(WakeTest, NodeWithoutMacOrHookCannotBeWoken) {
  ClusterTester c;
  protocol::Hello hello = HelloOf("pc1");
  hello.inventory.interfaces.clear();
  ASSERT_OK(c.Hello(hello));
  EXPECT_THAT(c.Wake("pc1"), StatusIs(kPrecondition, "pc1 is on already"));
  ASSERT_OK(c.Leaving("pc1", "shutdown"));
  c.Disconnect("pc1", /*reset=*/true);
  EXPECT_THAT(c.Wake("pc1"), StatusIs(kPrecondition, HasSubstr("is off and cannot be woken")));
  const RunId run = c.Submit(Nodes(1));
  EXPECT_EQ(c.Wait(run), "needs 1 node, 0 are free: pc1 is off and cannot be woken");
}

TEST(WakeTest, LostNodeMayBeWokenByHand) {
  ClusterTester c;
  c.Join({"pc1"});
  c.Pass(absl::Seconds(6), {"pc1"});
  ASSERT_OK(c.Wake("pc1"));
  EXPECT_THAT(c.TakeWakes(), SizeIs(1));
}

// A desktop may suspend its PC without a word.
class LostTest : public ::testing::Test {
 protected:
  LostTest() {
    c.Join({"pc1", "pc2"});
    c.Pass(absl::Seconds(7), {"pc2"});
    EXPECT_EQ(c.NodeState("pc2"), "lost");
    c.TakeEvents();
  }
  int PacketsWithin(absl::Duration d) {
    c.Pass(d, {"pc2"});
    return static_cast<int>(c.TakeWakes().size());
  }
  ClusterTester c;
};

TEST_F(LostTest, ARunThatNeedsItCallsIt) {
  EXPECT_EQ(PacketsWithin(absl::Minutes(1)), 0) << "nobody needs it";
  const RunId run = c.Submit(Nodes(2));
  EXPECT_EQ(PacketsWithin(absl::Minutes(1)), 5);
  EXPECT_EQ(PacketsWithin(absl::Minutes(10)), 0);
  EXPECT_THAT(c.TakeEvents("node.wake"),
              ElementsAre("node.wake run 1 needs it: it is lost, and may have fallen asleep by "
                          "itself"));
  EXPECT_EQ(c.NodeState("pc2"), "lost") << "it may as well be broken";
  protocol::Hello hello = HelloOf("pc2");
  hello.incarnation = 2;
  hello.resumed = true;
  ASSERT_OK(c.Hello(hello));
  EXPECT_EQ(c.state(run), RunState::kStarting);
}

TEST_F(LostTest, OneThatIsReclaimedIsNotCalled) {
  ASSERT_OK(c.Reclaim("pc2"));
  c.Submit(Nodes(2));
  EXPECT_EQ(PacketsWithin(absl::Minutes(1)), 0);
}

TEST_F(LostTest, ARunThatWaitedAlreadyCallsWhatIsLostLater) {
  ClusterTester d;
  d.Join({"pc1", "pc2"});
  d.Run(d.Submit(Nodes(1)));  // on pc1
  d.Submit(Nodes(2));
  d.Pass(absl::Seconds(7), {"pc2"});
  EXPECT_THAT(d.TakeWakes(), Not(IsEmpty()));
}

}  // namespace
}  // namespace hpc::coordinator::testing
