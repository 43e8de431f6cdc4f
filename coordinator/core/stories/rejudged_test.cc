// A coordinator that is started again judges the end of an attempt as it would have done anyway.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"
#include "coordinator/core/testing/cluster_tester.h"

namespace hpc::coordinator::testing {
namespace {

using ::testing::HasSubstr;

protocol::RankExit Signal(int signal) { return {std::nullopt, signal, false, "", ""}; }

// A gang that runs on pc1 and pc2.
class RejudgedTest : public ::testing::Test {
 protected:
  void Begin(const RunRequest& request) {
    c->Join({"pc1", "pc2"});
    run = c->Submit(request);
    c->Run(run);
  }
  void Restart() {
    c = std::make_unique<ClusterTester>(ClusterOptions(), c->Durable(), c->clock());
  }

  // The hello of a node that has its part of the run.
  protocol::Hello Holding(const std::string& name, bool returned) const {
    protocol::Hello hello = HelloOf(name);
    protocol::HeldAttempt held;
    held.ref = {run, 1};
    held.started = true;
    held.returned = returned;
    hello.attempts.push_back(held);
    return hello;
  }
  // Two heartbeats, the first of which the node sent when its clock showed `first`.
  void Beats(const std::string& node, absl::Duration first) {
    const absl::Duration heard = first + absl::Milliseconds(5);
    c->cluster().NoteTimes(c->now(), {node, 1}, {first, /*heartbeat=*/true});
    c->Pass(absl::Milliseconds(10), {node});
    c->cluster().NoteTimes(c->now(), {node, 1}, {heard, /*heartbeat=*/true, first, heard});
    c->Pass(absl::Milliseconds(1), {node});
  }
  void BothReturn() {
    ASSERT_OK(c->Hello(Holding("pc1", /*returned=*/true)));
    ASSERT_OK(c->Hello(Holding("pc2", /*returned=*/true)));
  }

  std::unique_ptr<ClusterTester> c = std::make_unique<ClusterTester>();
  RunId run = 0;
};

TEST_F(RejudgedTest, SigtermGivesWayToAWorkerThatHadGoneAtTheSameTime) {
  Begin(Nodes(2));
  ASSERT_OK(c->Exit(run, 1, Signal(15)));
  c->Pass(absl::Milliseconds(20));
  c->Disconnect("pc2", /*reset=*/true);
  ASSERT_EQ(c->attempt(run).outcome, AttemptOutcome::kNodeLost);
  Restart();
  BothReturn();
  c->Pass(absl::Seconds(1));
  EXPECT_EQ(c->record(run).losses, 1);
  EXPECT_EQ(c->record(run).failures, 0);
  EXPECT_FALSE(IsTerminal(c->state(run)));
}

TEST_F(RejudgedTest, AWishThatWasGuessedIsWithdrawn) {
  Begin(Nodes(2));
  c->Disconnect("pc2", /*reset=*/false);
  ASSERT_OK(c->Exit(run, 0, Code(3, "ValueError: bad shape")));
  protocol::Hello hello = Holding("pc2", /*returned=*/false);
  hello.reclaimed = hello.owner_changed = true;
  hello.attempts[0].ranks = {{1, 1001, {}, {}}};
  ASSERT_OK(c->Hello(hello));
  ASSERT_EQ(c->attempt(run).outcome, AttemptOutcome::kReclaimed) << "as far as is known";
  Restart();
  protocol::Hello returned = Holding("pc2", /*returned=*/true);
  returned.reclaimed = true;
  ASSERT_OK(c->Hello(Holding("pc1", /*returned=*/true)));
  ASSERT_OK(c->Hello(returned));
  c->Pass(absl::Seconds(1));
  EXPECT_EQ(c->state(run), RunState::kFailed);
  EXPECT_EQ(c->record(run).exit_code, 3);
}

TEST_F(RejudgedTest, WhatANodeSaysReplacesTheGuess) {
  Begin(Nodes(2));
  ASSERT_OK(c->Exit(run, 1, protocol::RankExit{std::nullopt, 15, true, "", ""}));
  ASSERT_EQ(c->attempt(run).outcome, AttemptOutcome::kNodeLost) << "as far as is known";
  Restart();
  protocol::Hello hello = Holding("pc2", /*returned=*/true);
  hello.attempts[0].halt = {
      protocol::HaltKind::kOwner, "pc2 was taken back by its owner", absl::Seconds(1), {}};
  c->StandStill(absl::Seconds(1));
  ASSERT_OK(c->Hello(hello));
  ASSERT_OK(c->Hello(Holding("pc1", /*returned=*/true)));
  EXPECT_EQ(c->record(run).losses, 0);
}

TEST_F(RejudgedTest, WhatDidNotDecideIsNotForgotten) {
  RunRequest request = Nodes(2);
  request.retry_exits = {75};
  Begin(request);
  ASSERT_OK(c->Exit(run, 0, Code(1)));
  c->Pass(absl::Milliseconds(900));
  ASSERT_OK(c->Halts(run, "pc2",
                     {protocol::HaltKind::kSupervisorLost, "its supervisor was killed", {}, {}}));
  c->Pass(absl::Milliseconds(100));
  ASSERT_EQ(c->attempt(run).outcome, AttemptOutcome::kProgramFailed) << "as far as is known";
  Restart();
  protocol::Hello hello = Holding("pc2", /*returned=*/true);
  hello.attempts[0].ranks = {{1, 1001, Code(75), {absl::Seconds(9), {}, {}}}};
  ASSERT_OK(c->Hello(hello));
  ASSERT_OK(c->Hello(Holding("pc1", /*returned=*/true)));
  c->Pass(absl::Seconds(1));
  EXPECT_EQ(c->record(run).losses, 1);
  EXPECT_EQ(c->record(run).retries, 0);
}

TEST_F(RejudgedTest, AnEndThatNobodyCouldTellIsNoSuccess) {
  Begin(Nodes(2));
  ASSERT_OK(c->Exit(run, 0, protocol::RankExit()));
  Restart();
  protocol::Hello hello = Holding("pc2", /*returned=*/true);
  hello.attempts[0].ranks = {{1, 1001, Code(0), {}}};
  ASSERT_OK(c->Hello(hello));
  ASSERT_OK(c->Hello(Holding("pc1", /*returned=*/true)));
  EXPECT_EQ(c->state(run), RunState::kFailed);
}

TEST_F(RejudgedTest, TheReasonStaysTheSame) {
  Begin(Nodes(2));
  ASSERT_OK(c->Exit(run, 0, Code(1, "RuntimeError: Connection closed by peer")));
  ASSERT_OK(c->Halts(run, "pc2",
                     {protocol::HaltKind::kSupervisorLost, "its supervisor was killed", {}, {}}));
  const std::string why = c->attempt(run).reason;
  ASSERT_THAT(why, HasSubstr("its supervisor was killed, and then rank 0 on pc1 exited"));
  Restart();
  c->Pass(absl::Milliseconds(1));
  EXPECT_EQ(c->attempt(run).reason, why);
}

// The hello of pc1 lay in a socket for three seconds, so its rank seems to have failed after the
// owner's wish. The coordinator is started once more before it can compare the clocks.
TEST_F(RejudgedTest, AFailureIsDatedAnewWhenTheClocksHaveBeenComparedAtLast) {
  Begin(Nodes(2));
  const MonoTime began = c->now().mono;
  const auto failed = [&](absl::Duration said) {
    protocol::Hello hello = Holding("pc1", /*returned=*/true);
    hello.said = absl::Hours(1) + said;
    const protocol::RankAges ago = {said, said - absl::Seconds(0.5), {}};
    hello.attempts[0].ranks = {{0, 1000, Code(3, "ValueError: bad shape"), ago}};
    return hello;
  };
  c->Pass(absl::Seconds(1));
  ASSERT_OK(c->Reclaim("pc2"));
  Restart();
  c->StandStill(absl::Seconds(4));
  ASSERT_OK(c->Hello(failed(c->now().mono - began - absl::Seconds(3))));
  ASSERT_EQ(c->attempt(run).outcome, AttemptOutcome::kReclaimed) << "as far as is known";
  Restart();
  c->StandStill(absl::Seconds(4));
  ASSERT_OK(c->Hello(failed(c->now().mono - began - absl::Seconds(3))));
  protocol::Hello reclaimed = Holding("pc2", /*returned=*/true);
  reclaimed.reclaimed = true;
  ASSERT_OK(c->Hello(reclaimed));
  EXPECT_EQ(c->state(run), RunState::kStopping) << "the clock of pc1 has not been compared yet";
  Beats("pc1", absl::Hours(1) + (c->now().mono - began));
  EXPECT_EQ(c->state(run), RunState::kFailed);
  EXPECT_EQ(c->record(run).exit_code, 3);
}

// The same for what a node says of itself: told once more, it is not older than it was.
TEST_F(RejudgedTest, AHaltThatIsToldAgainIsDatedAsItWas) {
  Begin(Nodes(2));
  c->Pass(absl::Seconds(2));
  ASSERT_OK(c->Exit(run, 0, Code(3, "ValueError: bad shape")));
  c->Pass(absl::Seconds(1));
  const protocol::Halt halt = {
      protocol::HaltKind::kSupervisorLost, "its supervisor was killed", {}, {}};
  ASSERT_OK(c->Halts(run, "pc2", halt));
  ASSERT_EQ(c->attempt(run).outcome, AttemptOutcome::kProgramFailed);
  Restart();
  protocol::Hello hello = Holding("pc2", /*returned=*/true);
  hello.said = absl::Hours(1);
  hello.attempts[0].halt = halt;
  ASSERT_OK(c->Hello(hello));
  ASSERT_OK(c->Hello(Holding("pc1", /*returned=*/true)));
  c->Pass(absl::Seconds(1), {"pc2"});
  EXPECT_EQ(c->state(run), RunState::kFailed);
}

}  // namespace
}  // namespace hpc::coordinator::testing
