// Reports cross: what an attempt ends for is judged from all that is known when it ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"
#include "coordinator/core/testing/cluster_tester.h"

namespace hpc::coordinator::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

RankExit Code(int code, const std::string& message = "") { return {code, {}, false, message, ""}; }
RankExit ClosedByPeer() { return Code(1, "RuntimeError: Connection closed by peer"); }
RankExit AfterStop() { return {std::nullopt, 15, true, "", ""}; }

Halt Owner(absl::Duration ago = {}) {
  return {HaltKind::kOwner, "pc2 was taken back by its owner", ago, {}};
}
Halt SupervisorKilled(absl::Duration ago = {}, absl::Duration within = {}) {
  return {HaltKind::kSupervisorLost, "its supervisor was killed", ago, within};
}

// A gang on pc1 and pc2, running.
class JudgementTest : public ::testing::Test {
 protected:
  JudgementTest() { Begin(0, {}); }
  void Begin(int max_restarts, std::vector<int32_t> retry_exits) {
    if (run != 0) {
      ASSERT_OK(c.Cancel(run));
      c.AllReturned(run);
    } else {
      c.Join({"pc1", "pc2"});
    }
    RunRequest request = Nodes(2);
    request.max_restarts = max_restarts;
    request.retry_exits = std::move(retry_exits);
    run = c.Submit(request);
    c.Run(run);
    c.TakeMessages();
    c.TakeEvents();
  }
  AttemptOutcome outcome() const { return c.attempt(run).outcome; }

  ClusterTester c;
  RunId run = 0;
};

TEST_F(JudgementTest, AQuickExitIsHeardBeforeTheOwnersWishThatCausedIt) {
  ASSERT_OK(c.Exit(run, 0, Code(1)));
  EXPECT_EQ(outcome(), AttemptOutcome::kProgramFailed) << "as far as is known";
  ASSERT_OK(c.Returned(run, "pc1"));
  c.Pass(absl::Milliseconds(300));
  ASSERT_OK(c.Exit(run, 1, AfterStop()));
  ASSERT_OK(c.Halted(run, "pc2", Owner(absl::Milliseconds(400))));
  EXPECT_EQ(c.record(run).failures, 0);
  EXPECT_FALSE(IsTerminal(c.state(run)));
  EXPECT_THAT(c.record(run).reason, Not(HasSubstr("exited with code 1")))
      << "it is being started again";
  EXPECT_THAT(c.TakeEvents("run.requeued"),
              Contains(HasSubstr("pc2 was taken back by its owner, and then rank 0 on pc1")));
}

TEST_F(JudgementTest, ASupervisorThatWasKilledIsTheCauseWhenItsPeersAreHeardFirst) {
  ASSERT_OK(c.Exit(run, 0, Code(1)));
  ASSERT_OK(c.Returned(run, "pc1"));
  c.Pass(absl::Seconds(2));
  ASSERT_OK(c.Halted(run, "pc2", SupervisorKilled({}, absl::Seconds(10))));
  EXPECT_EQ(c.record(run).failures, 0);
  EXPECT_EQ(c.record(run).losses, 1);
}

TEST_F(JudgementTest, WhySaysWhoHasNotBeenHeardWhileItIsJudged) {
  ASSERT_OK(c.Exit(run, 0, Code(1)));
  ASSERT_OK(c.Returned(run, "pc1"));
  EXPECT_THAT(c.Wait(run), Not(HasSubstr("judging")));
  c.Disconnect("pc2", /*reset=*/true);
  EXPECT_EQ(c.Wait(run),
            "waits for the devices of pc2: rank 0 on pc1 exited with code 1; judging: pc2 has not "
            "been heard since");
}

TEST_F(JudgementTest, AFailureThatCameFirstStaysTheCause) {
  ASSERT_OK(c.Exit(run, 0, Code(3, "ValueError: bad shape")));
  ASSERT_OK(c.Returned(run, "pc1"));
  c.Pass(absl::Seconds(1));
  ASSERT_OK(c.Halted(run, "pc2", Owner()));
  EXPECT_EQ(c.state(run), RunState::kFailed);
  EXPECT_EQ(c.record(run).exit_code, 3);
}

TEST_F(JudgementTest, AWishThatIsOverCostsNothing) {
  ASSERT_OK(c.Exit(run, 1, AfterStop()));
  EXPECT_EQ(outcome(), AttemptOutcome::kNodeLost) << "as far as is known";
  ASSERT_OK(c.Halted(run, "pc2", Owner(absl::Seconds(3))));
  ASSERT_OK(c.Exit(run, 0, AfterStop()));
  ASSERT_OK(c.Returned(run, "pc1"));
  EXPECT_EQ(c.record(run).losses, 0);
  EXPECT_THAT(c.TakeEvents("run.requeued"), Contains(HasSubstr("costs no restart")));
}

TEST_F(JudgementTest, ARankThatClosesBeforeItEndsHasTimeForItsOwnWord) {
  Begin(0, {75});
  ASSERT_OK(c.Exit(run, 0, ClosedByPeer()));
  EXPECT_THAT(c.TakeMessages(), IsEmpty()) << "rank 1 is not told to end yet";
  c.Pass(absl::Milliseconds(300));
  ASSERT_OK(c.Exit(run, 1, Code(75)));
  EXPECT_EQ(c.record(run).reason, "rank 1 on pc2 exited with code 75");
  c.AllReturned(run);
  EXPECT_EQ(c.record(run).failures, 0);
  EXPECT_FALSE(IsTerminal(c.state(run)));
}

TEST_F(JudgementTest, APeerThatDoesNotEndIsToldToAfterASecond) {
  ASSERT_OK(c.Exit(run, 0, ClosedByPeer()));
  c.Pass(absl::Milliseconds(900));
  EXPECT_EQ(c.state(run), RunState::kRunning);
  c.Pass(absl::Milliseconds(100));
  EXPECT_EQ(c.state(run), RunState::kStopping);
  EXPECT_THAT(c.TakeMessages(), Contains(StartsWith("pc2: stop")));
}

TEST_F(JudgementTest, WhatIsClearStopsTheGangAtOnce) {
  ASSERT_OK(c.Exit(run, 0, Code(3)));
  EXPECT_THAT(c.TakeMessages(), Contains(StartsWith("pc2: stop")));
}

TEST_F(JudgementTest, ARestartThatWasAskedForIsFreeWhereItMayHaveBeenFirst) {
  Begin(0, {75});
  ASSERT_OK(c.Exit(run, 1, Code(1)));  // as soon as its peer was gone
  ASSERT_OK(c.Exit(run, 0, Code(75), {{}, absl::ZeroDuration(), absl::Seconds(1)}));
  c.AllReturned(run);
  EXPECT_EQ(c.record(run).failures, 0);
  EXPECT_FALSE(IsTerminal(c.state(run)));
}

TEST_F(JudgementTest, AFailureThatWaitedForASecondReaderSurvivesARestartOfTheCoordinator) {
  ASSERT_OK(c.Exit(run, 0, ClosedByPeer()));
  ClusterTester again({}, c.Durable());
  again.Pass(absl::Seconds(2));
  EXPECT_EQ(again.record(run).reason,
            "rank 0 on pc1 exited with code 1: RuntimeError: Connection closed by peer");
}

TEST_F(JudgementTest, AVerdictThatWasBeingCarriedOutSurvivesARestartOfTheCoordinator) {
  ASSERT_OK(c.Reclaim("pc2"));
  ASSERT_OK(c.Exit(run, 0, ClosedByPeer()));
  ClusterTester again({}, c.Durable());
  for (const char* name : {"pc1", "pc2"}) {
    NodeHello hello = HelloOf(name);
    hello.reclaimed = hello.node == "pc2";
    HeldAttempt held;
    held.ref = {run, 1};
    held.started = held.returned = true;
    hello.attempts.push_back(held);
    ASSERT_OK(again.Hello(hello));
  }
  EXPECT_EQ(again.record(run).failures, 0);
  EXPECT_EQ(again.record(run).losses, 0);
  EXPECT_EQ(again.state(run), RunState::kQueued);
}

// The coordinator stands still for two seconds and then reads pc1's report first.
TEST_F(JudgementTest, OrderOfReadingDoesNotDecideWhoFailedFirst) {
  for (const char* node : {"pc1", "pc2"}) {
    c.cluster().NoteTimes(c.now(), node, 1, {absl::Hours(1), true});
  }
  c.StandStill(absl::Seconds(2));
  Effects effects;
  const auto said = [&](const char* node, absl::Duration after) {
    c.cluster().NoteTimes(c.now(), node, 1, {absl::Hours(1) + after});
  };
  said("pc1", absl::Seconds(1.5));
  ASSERT_OK(c.Exit(run, 0, Code(4)));
  said("pc2", absl::Seconds(0.5));
  ASSERT_OK(c.Exit(run, 1, Code(3)));
  EXPECT_EQ(c.record(run).reason, "rank 1 on pc2 exited with code 3");
}

}  // namespace
}  // namespace hpc::coordinator::testing
