// Reports cross: the cause of an attempt's end is judged from all that is known when it ends.
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

protocol::RankExit ClosedByPeer() { return Code(1, "RuntimeError: Connection closed by peer"); }
protocol::RankExit AfterStop() { return {std::nullopt, 15, true, "", ""}; }

protocol::Halt Owner(absl::Duration ago = {}) {
  return {protocol::HaltKind::kOwner, "pc2 was taken back by its owner", ago, {}};
}
protocol::Halt SupervisorKilled(absl::Duration ago = {}, absl::Duration within = {}) {
  return {protocol::HaltKind::kSupervisorLost, "its supervisor was killed", ago, within};
}

// A gang that runs on pc1 and pc2.
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

TEST_F(JudgementTest, OfANodeThatNeverSaysWhyItEndedItsRanksIsSaidWhatThatMayBe) {
  ASSERT_OK(c.Exit(run, 1, AfterStop()));
  c.AllReturned(run);
  EXPECT_THAT(c.TakeEvents("run.requeued"),
              Contains(HasSubstr("pc2 ended its ranks without an order of the coordinator and has "
                                 "not said why (its owner, a lost connection, or a stop of its "
                                 "worker)")));
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

TEST_F(JudgementTest, AnErrorBeforeTheStopIsTheReasonOfTheComplaint) {
  ASSERT_OK(c.Exit(run, 0, ClosedByPeer()));
  c.Pass(absl::Seconds(2));
  ASSERT_EQ(c.state(run), RunState::kStopping);
  const protocol::RankExit stopped{.signal = 15,
                                   .after_stop = true,
                                   .message = "ValueError: label 17 is out of range",
                                   .traceback = "Traceback ...\nValueError: label 17 ..."};
  ASSERT_OK(c.Exit(run, 1, stopped));
  EXPECT_EQ(c.attempt(run).reason, "rank 1 on pc2 failed: ValueError: label 17 is out of range");
  c.AllReturned(run);
  EXPECT_EQ(c.record(run).exit_code, 1);
}

TEST(GangOfThreeTest, WhoExitedBeforeAComplaintIsNotSaidOfTheErrorThatStandsForIt) {
  ClusterTester c;
  c.Join({"pc1", "pc2", "pc3"});
  const RunId run = c.Submit(Nodes(3));
  c.Run(run);
  ASSERT_OK(c.Exit(run, 1, Code(0)));
  c.Pass(absl::Seconds(3));
  ASSERT_OK(c.Exit(run, 0, ClosedByPeer()));
  c.Pass(absl::Seconds(2));
  ASSERT_EQ(c.state(run), RunState::kStopping);
  ASSERT_OK(c.Exit(run, 2,
                   {.signal = 15,
                    .after_stop = true,
                    .message = "ValueError: bad shape",
                    .traceback = "Traceback ..."}));
  EXPECT_EQ(c.attempt(run).reason, "rank 2 on pc3 failed: ValueError: bad shape");
}

TEST_F(JudgementTest, APeerThatHadExitedIsNamedBesideTheComplaint) {
  ASSERT_OK(c.Exit(run, 1, Code(0)));
  c.Pass(absl::Seconds(3));
  ASSERT_OK(c.Exit(run, 0, ClosedByPeer()));
  const std::string why =
      "rank 1 on pc2 exited with code 0, and 3 s later rank 0 on pc1 exited with code 1: "
      "RuntimeError: Connection closed by peer";
  EXPECT_EQ(c.record(run).reason, why);
  ClusterTester again({}, c.Durable());
  again.Pass(absl::Seconds(2));
  EXPECT_EQ(again.record(run).reason, why);
}

TEST_F(JudgementTest, APeerWhoseExitIsHeardLaterIsNamedToo) {
  ASSERT_OK(c.Exit(run, 0, ClosedByPeer()));
  c.Pass(absl::Seconds(2));
  ASSERT_EQ(c.state(run), RunState::kStopping);
  ASSERT_OK(c.Exit(run, 1, Code(0), {absl::Seconds(3), absl::Seconds(3), {}}));
  EXPECT_THAT(c.record(run).reason,
              HasSubstr("rank 1 on pc2 exited with code 0, and 1 s later rank 0 on pc1"));
}

TEST_F(JudgementTest, WhatIsClearStopsTheGangAtOnce) {
  ASSERT_OK(c.Exit(run, 0, Code(3)));
  EXPECT_THAT(c.TakeMessages(), Contains(StartsWith("pc2: stop")));
}

TEST_F(JudgementTest, ARestartThatWasAskedForIsFreeWhereItMayHaveBeenFirst) {
  Begin(0, {75});
  ASSERT_OK(c.Exit(run, 1, Code(1)));  // it failed as soon as its peer was gone
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
    protocol::Hello hello = HelloOf(name);
    hello.reclaimed = hello.node == "pc2";
    protocol::HeldAttempt held;
    held.ref = {run, 1};
    held.started = held.returned = true;
    hello.attempts.push_back(held);
    ASSERT_OK(again.Hello(hello));
  }
  EXPECT_EQ(again.record(run).failures, 0);
  EXPECT_EQ(again.record(run).losses, 0);
  EXPECT_EQ(again.state(run), RunState::kQueued);
}

// What a node of a gang says when it connects again and its part has returned.
protocol::Hello BackWithItsPart(const std::string& name, RunId run) {
  protocol::Hello hello = HelloOf(name);
  protocol::HeldAttempt held;
  held.ref = {run, 1};
  held.started = held.returned = true;
  hello.attempts.push_back(held);
  return hello;
}

TEST_F(JudgementTest, ANodeThatEndsRanksByItselfIsHeardBeforeTheyAreGone) {
  ASSERT_OK(c.Halts(run, "pc2", SupervisorKilled()));
  EXPECT_EQ(outcome(), AttemptOutcome::kNodeLost);
  EXPECT_THAT(c.TakeMessages(), Contains(StartsWith("pc1: stop")));
  c.Disconnect("pc2", /*reset=*/true);  // its worker does not live to say more
  EXPECT_EQ(c.attempt(run).reason, "pc2: its supervisor was killed");
}

TEST_F(JudgementTest, WhatIsLostBehindAPartThatEndedWellIsOfNoUseToAnybody) {
  ASSERT_OK(c.Exit(run, 1, Code(0)));
  ASSERT_OK(c.Halts(run, "pc2", SupervisorKilled()));
  ASSERT_OK(c.Halted(run, "pc2", SupervisorKilled()));
  EXPECT_EQ(c.state(run), RunState::kRunning);
  ASSERT_OK(c.Exit(run, 0, Code(3, "ValueError: bad shape")));
  ASSERT_OK(c.Returned(run, "pc1"));
  EXPECT_EQ(c.record(run).exit_code, 3);
}

TEST_F(JudgementTest, WordsOfItsOwnDoNotMakeAConsequenceAFailure) {
  ASSERT_OK(c.Exit(run, 0, Code(1, "my trainer: worker 1 went away"), {{}, {}, {}}));
  ASSERT_OK(c.Returned(run, "pc1"));
  ASSERT_OK(c.Halted(run, "pc2", SupervisorKilled({}, absl::Seconds(2))));
  EXPECT_EQ(c.record(run).failures, 0);
  EXPECT_EQ(c.record(run).losses, 1);
}

TEST_F(JudgementTest, APcThatRestartsWasGoneWhenItFellSilent) {
  c.Pass(absl::Seconds(2), {"pc2"});
  ASSERT_OK(c.Exit(run, 0, ClosedByPeer()));
  c.Pass(absl::Seconds(1), {"pc2"});
  ASSERT_OK(c.Returned(run, "pc1"));
  protocol::Hello hello = HelloOf("pc2");
  hello.boot_id = "boot-2";
  hello.incarnation = 2;
  ASSERT_OK(c.Hello(hello));
  EXPECT_EQ(c.record(run).failures, 0);
  EXPECT_EQ(c.record(run).losses, 1);
  EXPECT_THAT(c.TakeEvents("run.requeued"), Contains(HasSubstr("pc2: the PC has restarted")));
}

TEST_F(JudgementTest, FilesThatAPcStillHasAfterARestartSayLessThanTheRestart) {
  c.Pass(absl::Seconds(5), {"pc2"});
  ASSERT_OK(c.Exit(run, 0, Code(1)));
  ASSERT_OK(c.Returned(run, "pc1"));
  protocol::Hello hello = HelloOf("pc2");
  hello.boot_id = "boot-2";
  hello.incarnation = 2;
  protocol::HeldAttempt held;
  held.ref = {run, 1};
  hello.attempts.push_back(held);
  ASSERT_OK(c.Hello(hello));
  ASSERT_OK(c.Halted(run, "pc2", SupervisorKilled()));
  EXPECT_EQ(c.record(run).failures, 0);
  EXPECT_EQ(c.record(run).losses, 1);
}

TEST_F(JudgementTest, WhatIsLostLaterExcusesNothingThoughNobodyCanTellWhenItWasLost) {
  ASSERT_OK(c.Exit(run, 1, Code(3, "ValueError: bad shape")));
  ASSERT_OK(c.Returned(run, "pc2"));
  c.Pass(absl::Seconds(10));
  c.Disconnect("pc1", /*reset=*/true);
  protocol::HeldAttempt held = HeldWith({run, 1}, {});
  held.returned = true;
  held.halt = SupervisorKilled({}, absl::Minutes(1));  // since its ranks began
  ASSERT_OK(c.Hello(BackWith("pc1", held)));
  EXPECT_EQ(c.state(run), RunState::kFailed);
  EXPECT_EQ(c.record(run).exit_code, 3);
}

TEST_F(JudgementTest, AnOwnerWhoComesWhenNothingRunsThereExcusesNothing) {
  ASSERT_OK(c.Exit(run, 0, Code(3, "ValueError: bad shape")));
  ASSERT_OK(c.Returned(run, "pc1"));
  c.Disconnect("pc2", /*reset=*/false);
  c.Pass(absl::Seconds(2), {"pc2"});
  protocol::Hello hello = BackWithItsPart("pc2", run);
  hello.incarnation = 2;
  hello.reclaimed = hello.owner_changed = true;
  c.StandStill(absl::Seconds(8));
  ASSERT_OK(c.Hello(hello));
  EXPECT_EQ(c.state(run), RunState::kFailed);
  EXPECT_EQ(c.record(run).exit_code, 3);
}

TEST_F(JudgementTest, AFailureForWantOfTheStoreIsNotTheProgramsWhenItIsHeardFirst) {
  c.Disconnect("pc1", /*reset=*/true);
  ASSERT_OK(c.Exit(run, 1, Code(1, "DistNetworkError: the store is gone")));
  protocol::HeldAttempt held = HeldWith({run, 1}, {{0, 100, {}, {}}});
  held.store_lost = absl::ZeroDuration();
  ASSERT_OK(c.Hello(BackWith("pc1", held)));
  EXPECT_EQ(outcome(), AttemptOutcome::kNodeLost);
  EXPECT_THAT(c.attempt(run).reason,
              HasSubstr("its rendezvous store was lost with the worker of "));
}

// Rank 0 has done its work. Its node, which goes on serving the store, loses its worker.
void LoseStoreOfFinishedPart(ClusterTester* c, RunId run, const protocol::RendezvousReport& met) {
  ASSERT_OK(c->Report("pc1", met));
  ASSERT_OK(c->Exit(run, 0, 0));
  ASSERT_OK(c->Returned(run, "pc1"));
  c->Disconnect("pc1", /*reset=*/true);
}

TEST_F(JudgementTest, AComplaintForWantOfTheStoreOfAFinishedPartIsNotTheProgramsEither) {
  LoseStoreOfFinishedPart(&c, run, {{run, 1}, {{"10.0.0.pc2", 1001}}, "", 0});
  ASSERT_OK(c.Exit(run, 1, Code(1, "DistNetworkError: TCPStore: connection reset")));
  ASSERT_OK(c.Returned(run, "pc2"));
  EXPECT_EQ(c.record(run).failures, 0);
  EXPECT_EQ(c.record(run).losses, 1);
  EXPECT_THAT(c.TakeEvents("run.requeued"), Contains(HasSubstr("to and from pc1")));
}

TEST_F(JudgementTest, WhereNoRankCameToTheStoreItsLossExcusesNothing) {
  LoseStoreOfFinishedPart(&c, run, {{run, 1}, {}, "", 0});
  ASSERT_OK(c.Exit(run, 1, Code(3, "ConnectionRefusedError: by the data server")));
  ASSERT_OK(c.Returned(run, "pc2"));
  EXPECT_EQ(c.state(run), RunState::kFailed);
  EXPECT_EQ(c.record(run).exit_code, 3);
}

TEST_F(JudgementTest, ACancelDoesNotUndoAFailureThatCameFirst) {
  ASSERT_OK(c.Exit(run, 0, Code(3, "ValueError: bad shape")));
  ASSERT_OK(c.Cancel(run, "ben"));
  c.AllReturned(run);
  EXPECT_EQ(c.state(run), RunState::kFailed);
  EXPECT_EQ(c.record(run).exit_code, 3);
  EXPECT_THAT(c.record(run).reason, HasSubstr("bad shape"));
}

TEST_F(JudgementTest, ACancelKeepsARunFromStartingAgain) {
  Begin(/*max_restarts=*/3, {});
  ASSERT_OK(c.Exit(run, 0, Code(3, "ValueError: bad shape")));
  ASSERT_OK(c.Cancel(run, "ben"));
  c.AllReturned(run);
  EXPECT_EQ(c.state(run), RunState::kCancelled);
  EXPECT_EQ(c.record(run).reason, "cancelled by ben");
}

// The node says when it sent a heartbeat and, from the second one on, that the one before was
// heard.
void Beats(ClusterTester* c, const std::string& node, uint64_t incarnation) {
  const absl::Duration first = absl::Hours(1) + absl::Milliseconds(10);
  const absl::Duration heard = first + absl::Milliseconds(5);
  c->cluster().NoteTimes(c->now(), {node, incarnation}, {first, /*heartbeat=*/true});
  c->Pass(absl::Milliseconds(10), {node});
  c->cluster().NoteTimes(c->now(), {node, incarnation}, {heard, /*heartbeat=*/true, first, heard});
  c->Pass(absl::Milliseconds(1), {node});
}

// Both nodes have returned their parts to a coordinator that was started three seconds ago. The
// owner of pc2 took it back so long ago.
void ReturnAfterAWish(ClusterTester* c, RunId run, absl::Duration ago = absl::Seconds(1)) {
  c->StandStill(absl::Seconds(3));
  ASSERT_OK(c->Hello(BackWithItsPart("pc1", run)));
  protocol::Hello reclaimed = BackWithItsPart("pc2", run);
  reclaimed.said = absl::Hours(1);
  reclaimed.attempts[0].halt = Owner(ago);
  ASSERT_OK(c->Hello(reclaimed));
}

TEST_F(JudgementTest, ARestartOfTheCoordinatorDoesNotMakeALaterWishTheCause) {
  ASSERT_OK(c.Exit(run, 0, Code(3, "ValueError: bad shape")));
  ClusterTester again({}, c.Durable());
  ReturnAfterAWish(&again, run);
  EXPECT_EQ(again.state(run), RunState::kStopping) << "the clock of pc2 has not been compared yet";
  Beats(&again, "pc2", 1);
  EXPECT_EQ(again.state(run), RunState::kFailed);
  EXPECT_EQ(again.record(run).exit_code, 3);
}

TEST_F(JudgementTest, AClockThatWasSetMeanwhileDoesNotChangeWhatCameFirst) {
  ASSERT_OK(c.Exit(run, 0, Code(3, "ValueError: bad shape")));
  c.Pass(absl::Seconds(5));
  Snapshot snapshot = c.Durable();
  snapshot.clock_set = -absl::Seconds(4);  // times that were written before look later now
  for (RankRecord& rank : snapshot.ranks) {
    rank.ended_from += absl::Seconds(4);
    rank.ended_at += absl::Seconds(4);
  }
  ClusterTester again({}, snapshot, c.clock());
  ReturnAfterAWish(&again, run, absl::Seconds(6));  // two seconds after the failure
  Beats(&again, "pc2", 1);
  EXPECT_EQ(again.state(run), RunState::kFailed);
  EXPECT_EQ(again.record(run).exit_code, 3);
}

TEST_F(JudgementTest, ANodeWhoseClockIsNeverComparedHoldsUpNothingForLong) {
  ASSERT_OK(c.Exit(run, 0, Code(3, "ValueError: bad shape")));
  ClusterTester again({}, c.Durable());
  ReturnAfterAWish(&again, run);
  again.Pass(absl::Seconds(1));
  EXPECT_EQ(again.record(run).attempts, 2);
  EXPECT_EQ(again.record(run).failures, 0) << "in doubt the run does not pay";
}

TEST_F(JudgementTest, HowEarlyARankMayHaveEndedSurvivesARestartOfTheCoordinator) {
  Begin(0, {75});
  c.Pass(absl::Seconds(5));
  ASSERT_OK(c.Exit(run, 0, ClosedByPeer()));
  c.Pass(absl::Seconds(3));
  ASSERT_OK(c.Exit(run, 1, Code(75), {{}, absl::ZeroDuration(), absl::Seconds(4)}));
  Snapshot snapshot = c.Durable();
  for (RankRecord& rank : snapshot.ranks) {  // the coordinator is started again a minute later
    rank.ended_from -= absl::Minutes(1);
    rank.ended_at -= absl::Minutes(1);
  }
  ClusterTester again({}, snapshot);
  ASSERT_OK(again.Hello(BackWithItsPart("pc1", run)));
  ASSERT_OK(again.Hello(BackWithItsPart("pc2", run)));
  EXPECT_EQ(again.record(run).failures, 0);
  EXPECT_FALSE(IsTerminal(again.state(run)));
}

// The heartbeats of pc2 come four seconds late: its cable was out for that time.
void HoldsUp(ClusterTester* c) {
  const absl::Duration sent = absl::Hours(1) + absl::Seconds(1);
  c->Pass(absl::Seconds(4), {"pc2"});
  c->cluster().NoteTimes(c->now(), {"pc2", 1}, {sent, /*heartbeat=*/true});
}

TEST_F(JudgementTest, ACableThatIsOutForLessThanTheLeaseIsNoFailureOfAProgramThatCannotWait) {
  Beats(&c, "pc2", 1);
  c.StandStill(absl::Milliseconds(980));
  ASSERT_OK(c.Exit(run, 0, Code(1, "RuntimeError: Timed out waiting for a peer"),
                   {{}, absl::ZeroDuration(), {}}));
  HoldsUp(&c);
  ASSERT_OK(c.Exit(run, 1, AfterStop()));
  c.AllReturned(run);
  EXPECT_EQ(c.record(run).failures, 0);
  EXPECT_EQ(c.record(run).losses, 1);
  EXPECT_THAT(
      c.TakeEvents("run.requeued"),
      Contains(HasSubstr("nothing passed to and from pc2 for 4 s, and then rank 0 on pc1")));
}

TEST_F(JudgementTest, ACoordinatorThatStoodStillExcusesNoComplaint) {
  Beats(&c, "pc2", 1);
  c.StandStill(absl::Seconds(3));
  c.cluster().NoteTimes(c.now(), {"pc2", 1}, {absl::Hours(1) + absl::Seconds(1), true});
  ASSERT_OK(c.Exit(run, 0, Code(3, "ConnectionRefusedError: by the data server"),
                   {{}, absl::Seconds(2), {}}));
  c.Pass(absl::Milliseconds(900));
  c.cluster().NoteTimes(c.now(), {"pc2", 1}, {absl::Hours(1) + absl::Seconds(3.9), true});
  c.Pass(absl::Milliseconds(100));
  EXPECT_EQ(outcome(), AttemptOutcome::kProgramFailed);
}

TEST_F(JudgementTest, ACableThatIsOutBehindAPartThatEndedWellExcusesNothing) {
  Beats(&c, "pc2", 1);
  ASSERT_OK(c.Exit(run, 1, 0));
  c.StandStill(absl::Milliseconds(980));
  ASSERT_OK(c.Exit(run, 0, Code(3, "TimeoutError: the data server timed out")));
  HoldsUp(&c);
  c.AllReturned(run);
  EXPECT_EQ(c.state(run), RunState::kFailed);
}

TEST_F(JudgementTest, ACableThatIsOutExcusesNoFailureOfTheProgramsOwn) {
  Beats(&c, "pc2", 1);
  c.StandStill(absl::Milliseconds(980));
  ASSERT_OK(c.Exit(run, 0, Code(3, "ValueError: bad shape")));
  HoldsUp(&c);
  c.AllReturned(run);
  EXPECT_EQ(c.state(run), RunState::kFailed);
}

TEST_F(JudgementTest, AFailureBeforeAWishIsNotForgivenByARestartOfTheCoordinator) {
  c.Pass(absl::Seconds(5));
  ASSERT_OK(c.Reclaim("pc2"));
  ClusterTester again({}, c.Durable());
  again.Pass(absl::Seconds(1));
  protocol::Hello failed = BackWithItsPart("pc1", run);
  protocol::HeldRank rank;
  rank.pid = 1;
  rank.exit = Code(3, "ValueError: bad shape");
  rank.ago = {absl::Seconds(9), absl::Seconds(4), {}};
  failed.attempts[0].ranks.push_back(rank);
  ASSERT_OK(again.Hello(failed));
  protocol::Hello reclaimed = BackWithItsPart("pc2", run);
  reclaimed.reclaimed = true;
  ASSERT_OK(again.Hello(reclaimed));
  EXPECT_EQ(again.state(run), RunState::kFailed);
  EXPECT_EQ(again.record(run).exit_code, 3);
}

TEST_F(JudgementTest, ARefusalKeepsItsCodeOverARestartOfTheCoordinator) {
  ClusterTester first;
  first.Join({"pc1", "pc2"});
  const RunId id = first.Submit(Nodes(2));
  ASSERT_OK(first.Prepared(id, "pc1"));
  ASSERT_OK(first.Prepared(id, "pc2", absl::NotFoundError("pc2: command not found")));
  ClusterTester again({}, first.Durable());
  ASSERT_OK(again.Hello(BackWithItsPart("pc1", id)));
  ASSERT_OK(again.Hello(BackWithItsPart("pc2", id)));
  EXPECT_EQ(again.state(id), RunState::kFailed);
  EXPECT_EQ(again.record(id).exit_code, 127);
}

TEST_F(JudgementTest, TwoRestartsOfTheCoordinatorWhileARunIsStartedCostNothing) {
  ClusterTester first;
  first.Join({"pc1", "pc2"});
  const RunId id = first.Submit(Nodes(2));
  ClusterTester second({}, first.Durable());
  ClusterTester third({}, second.Durable());
  ASSERT_OK(third.Hello(BackWithItsPart("pc1", id)));
  ASSERT_OK(third.Hello(BackWithItsPart("pc2", id)));
  EXPECT_EQ(third.record(id).losses, 0);
  EXPECT_THAT(third.TakeEvents("run.requeued"), Contains(HasSubstr("costs nothing")));
}

// A worker that continues after a standstill sends a heartbeat before it reads what has happened,
// and is killed then.
TEST_F(JudgementTest, WhatANodeCouldNotTellIsAsOldAsItsHeartbeatBeforeTheLast) {
  const auto beats = [&](absl::Duration said) {
    c.cluster().NoteTimes(c.now(), {"pc2", 1}, {absl::Hours(1) + said, /*heartbeat=*/true});
  };
  beats(absl::ZeroDuration());
  c.Pass(absl::Seconds(1), {"pc2"});
  ASSERT_OK(c.Exit(run, 0, Code(1)));
  c.Pass(absl::Seconds(3), {"pc2"});
  beats(absl::Seconds(4));
  c.Pass(absl::Seconds(7), {"pc2"});
  EXPECT_EQ(outcome(), AttemptOutcome::kNodeLost);
}

// The coordinator stands still for two seconds, and then reads pc1's report first.
TEST_F(JudgementTest, OrderOfReadingDoesNotDecideWhoFailedFirst) {
  for (const char* node : {"pc1", "pc2"}) {
    c.cluster().NoteTimes(c.now(), {node, 1}, {absl::Hours(1), true});
  }
  c.StandStill(absl::Seconds(2));
  Effects effects;
  const auto said = [&](const char* node, absl::Duration after) {
    c.cluster().NoteTimes(c.now(), {node, 1}, {absl::Hours(1) + after});
  };
  said("pc1", absl::Seconds(1.5));
  ASSERT_OK(c.Exit(run, 0, Code(4)));
  said("pc2", absl::Seconds(0.5));
  ASSERT_OK(c.Exit(run, 1, Code(3)));
  EXPECT_EQ(c.record(run).reason, "rank 1 on pc2 exited with code 3");
}

}  // namespace
}  // namespace hpc::coordinator::testing
