// Gangs whose nodes vouch for one another: when the ranks of a lost node are known to be dead.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"
#include "coordinator/core/testing/cluster_tester.h"

namespace hpc::coordinator::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A gang on pc1 and pc2, whose workers know how to vouch for an attempt; pc3 is free.
class WitnessedTest : public ::testing::Test {
 protected:
  WitnessedTest() {
    for (const char* name : {"pc1", "pc2", "pc3"}) EXPECT_OK(c.Hello(Knowing(name)));
    run = c.Submit(Nodes(2));
    c.Run(run);
    c.TakeMessages();
    c.TakeEvents();
  }
  static protocol::Hello Knowing(const std::string& node) {
    protocol::Hello hello = HelloOf(node);
    hello.can_vouch = true;
    return hello;
  }

  protocol::HeldAttempt Witnessed() const {
    protocol::HeldAttempt held;
    held.ref = {run, 1};
    held.started = true;
    held.witnessed = true;
    held.ranks.push_back({0, 1000, std::nullopt, {}});
    return held;
  }

  ClusterTester c;
  RunId run;
};

TEST_F(WitnessedTest, WhenANodeIsSilentTheOthersAreAskedNotToVouch) {
  c.Pass(absl::Seconds(3), {"pc2"});
  EXPECT_THAT(c.TakeMessages(), ElementsAre("pc1: doubt 1.1 for 3 s"));
  EXPECT_EQ(c.state(run), RunState::kRunning);
  c.Pass(absl::Seconds(1), {"pc2"});
  EXPECT_THAT(c.TakeMessages(), ElementsAre("pc1: doubt 1.1 for 3 s")) << "a promise ends";
  c.Pass(absl::Minutes(1));
  EXPECT_THAT(c.TakeMessages(), IsEmpty());
}

TEST_F(WitnessedTest, AGangThatLostANodeIsStartedElsewhereAsSoonAsTheLeaseIsOver) {
  c.Pass(absl::Seconds(3), {"pc2"});
  ASSERT_OK(c.Doubted(run, "pc1"));
  c.Pass(absl::Seconds(1), {"pc2"});
  ASSERT_OK(c.Doubted(run, "pc1"));
  c.Pass(absl::Seconds(2), {"pc2"});
  EXPECT_THAT(c.TakeMessages(),
              Contains("pc1: stop 1.1 within 500 ms: nothing heard from pc2 for 6 s"));
  EXPECT_THAT(c.TakeEvents("attempt"),
              ElementsAre("attempt.fenced pc2 has not been heard for 6 s, and pc1 does not vouch "
                          "for it: its ranks are killed by now"));
  EXPECT_EQ(c.record(run).attempts, 1) << "pc1 has not returned its device";
  ASSERT_OK(c.Returned(run, "pc1"));
  EXPECT_EQ(c.record(run).attempts, 2);
  EXPECT_THAT(c.nodes_of(run), ElementsAre("pc1", "pc3"));
}

TEST_F(WitnessedTest, WithoutAnAnswerTheReturnOfASurvivorEndsWhatItVouchedFor) {
  c.Pass(absl::Seconds(6), {"pc2"});
  ASSERT_OK(c.Returned(run, "pc1"));
  c.Pass(absl::Seconds(2), {"pc2"});
  EXPECT_EQ(c.record(run).attempts, 1);
  c.Pass(absl::Seconds(1), {"pc2"});
  EXPECT_EQ(c.record(run).attempts, 2);
}

TEST_F(WitnessedTest, WithoutASurvivorTheWholeTimeIsWaited) {
  c.Pass(absl::Seconds(6), {"pc1", "pc2"});
  c.Pass(absl::Minutes(5), {"pc1", "pc2"});  // stop_after_disconnect is over, the grace is not
  EXPECT_EQ(c.record(run).attempts, 1);
}

// pc1 has rank 0, so its worker tells pc2 whether all nodes are there.
TEST_F(WitnessedTest, TheNodeOfRankZeroIsAskedNotToVouchWhenItsPartHasEndedWellToo) {
  ASSERT_OK(c.Exit(run, 0, 0));
  ASSERT_OK(c.Returned(run, "pc1"));
  c.Pass(absl::Seconds(3), {"pc2"});
  EXPECT_THAT(c.TakeMessages(), ElementsAre("pc1: doubt 1.1 for 3 s"));
  ASSERT_OK(c.Doubted(run, "pc1"));
  c.Pass(absl::Seconds(1), {"pc2"});
  ASSERT_OK(c.Doubted(run, "pc1"));
  c.Pass(absl::Seconds(2), {"pc2"});
  EXPECT_EQ(c.record(run).attempts, 2);
}

TEST_F(WitnessedTest, ThatAPartHasEndedWellIsNoPromise) {
  ASSERT_OK(c.Exit(run, 0, 0));
  ASSERT_OK(c.Returned(run, "pc1"));
  c.Pass(absl::Minutes(5), {"pc2"});
  EXPECT_EQ(c.record(run).attempts, 1);
  c.Pass(absl::Seconds(32), {"pc2"});
  EXPECT_EQ(c.record(run).attempts, 2) << "it has stopped by itself";
}

TEST_F(WitnessedTest, ANodeKeepsAPartThatHasEndedUntilAllHave) {
  ASSERT_OK(c.Exit(run, 1, 0));
  ASSERT_OK(c.Returned(run, "pc2"));
  protocol::HeldAttempt held = Witnessed();
  held.ranks.front() = {1, 1001, protocol::RankExit{.exit_code = 0}, {}};
  held.returned = true;
  protocol::Hello hello = Knowing("pc2");
  hello.attempts = {held};
  c.TakeMessages();
  ASSERT_OK(c.Hello(hello));
  EXPECT_THAT(c.TakeMessages(), IsEmpty()) << "pc1 may still ask it";
  c.Finish(run);
  EXPECT_THAT(c.TakeMessages(), ElementsAre("pc1: forget 1.1", "pc2: forget 1.1"));
  ASSERT_OK(c.Hello(hello));
  EXPECT_THAT(c.TakeMessages(), ElementsAre("pc2: forget 1.1"));
}

TEST_F(WitnessedTest, ANewWorkerKnowsNothingOfPromisesOfTheOneBefore) {
  c.Pass(absl::Seconds(4), {"pc2"});
  ASSERT_OK(c.Doubted(run, "pc1"));
  c.Disconnect("pc1", /*reset=*/true);
  protocol::Hello again = Knowing("pc1");
  again.incarnation = 2;
  again.attempts = {Witnessed()};
  ASSERT_OK(c.Hello(again));
  c.Pass(absl::Seconds(2), {"pc2"});
  EXPECT_EQ(c.NodeState("pc2"), "lost");
  EXPECT_THAT(c.TakeEvents("attempt"), IsEmpty());
}

TEST_F(WitnessedTest, ARestartedCoordinatorLearnsFromAnyNodeThatTheAttemptIsWitnessed) {
  ClusterTester again({}, c.Durable());
  protocol::Hello hello = Knowing("pc1");
  hello.attempts = {Witnessed()};
  ASSERT_OK(again.Hello(hello));
  ASSERT_OK(again.Hello(Knowing("pc3")));
  again.Pass(absl::Seconds(8) - absl::Milliseconds(1), {});
  EXPECT_THAT(again.TakeMessages(), IsEmpty()) << "it may still be about to connect";
  again.Pass(absl::Milliseconds(1), {});
  EXPECT_THAT(again.TakeMessages(), ElementsAre("pc1: doubt 1.1 for 3 s"));
  again.Pass(absl::Seconds(3));
  EXPECT_EQ(again.NodeState("pc2"), "lost");
  ASSERT_OK(again.Returned(run, "pc1"));
  again.Pass(absl::Seconds(3));
  EXPECT_EQ(again.record(run).attempts, 2);
}

TEST_F(WitnessedTest, ACoordinatorThatStoodStillDoubtsNobodyForThat) {
  c.StandStill(absl::Seconds(5));
  c.Pass(absl::Seconds(10));
  EXPECT_THAT(c.TakeMessages(), IsEmpty());
}

TEST_F(WitnessedTest, WhatOneWorkerAloneDoesNotKnowIsNotWitnessed) {
  c.Pass(absl::Seconds(1));
  ASSERT_OK(c.Hello(HelloOf("pc3")));  // its worker has an older version
  const RunId three = c.Submit(Nodes(3));
  c.Finish(run);
  c.Run(three);
  c.TakeMessages();
  c.Pass(absl::Seconds(4), {"pc2"});
  EXPECT_THAT(c.TakeMessages(), IsEmpty());
}

}  // namespace
}  // namespace hpc::coordinator::testing
