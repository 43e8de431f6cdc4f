// A PC that goes down tells all of its processes to end, in any order, and says so itself late or
// never.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"
#include "coordinator/core/testing/gang_of_two.h"

namespace hpc::coordinator::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

protocol::RankExit Terminated() { return {.signal = 15}; }
protocol::RankExit Answered(int code) { return {.exit_code = code, .catches_sigterm = true}; }
protocol::RankExit ValueError() {
  return {.exit_code = 1, .message = "ValueError: bad shape", .traceback = "Traceback ..."};
}

// A run on pc1 alone.
class GoingDownTest : public ::testing::Test {
 protected:
  GoingDownTest() {
    c.Join({"pc1"});
    run = c.Submit(Nodes(1));
    c.Run(run);
  }

  // What pc1 says when it connects again, where its rank has ended so a short time ago.
  protocol::Hello Back(const protocol::RankExit& exit) const {
    const protocol::RankAges ago{absl::Seconds(60), absl::Milliseconds(100)};
    protocol::HeldAttempt held = HeldWith({run, 1}, {{0, 100, exit, ago}});
    held.returned = true;
    return BackWith("pc1", held);
  }
  protocol::Hello BackAfterABoot(const protocol::RankExit& exit) const {
    protocol::Hello hello = Back(exit);
    hello.boot_id = "boot-2";
    return hello;
  }
  void EndsHere(const protocol::RankExit& exit) {
    ASSERT_OK(c.Exit(run, 0, exit));
    ASSERT_OK(c.Returned(run, "pc1"));
  }
  bool Free() const { return c.record(run).failures == 0 && !IsTerminal(c.state(run)); }

  ClusterTester c;
  RunId run = 0;
};

TEST_F(GoingDownTest, TheWorkerMayBeToldBeforeItsRanks) {
  c.Disconnect("pc1", /*reset=*/true);
  c.Pass(absl::Milliseconds(500));
  ASSERT_OK(c.Hello(Back(Terminated())));
  c.Pass(absl::Seconds(2));
  EXPECT_TRUE(Free());
}

TEST_F(GoingDownTest, ASigtermLongAfterTheWorkerWasThereAgainIsTheProgramsOwn) {
  c.Disconnect("pc1", /*reset=*/true);
  protocol::Hello hello = Back(Terminated());
  hello.attempts[0].returned = false;
  hello.attempts[0].ranks[0].exit.reset();
  ASSERT_OK(c.Hello(hello));
  c.Pass(absl::Seconds(10));
  EndsHere(Terminated());
  c.Pass(absl::Seconds(3));
  EXPECT_EQ(c.state(run), RunState::kFailed);
}

TEST_F(GoingDownTest, AfterABootNobodyElseTellsWhy) {
  c.Pass(absl::Seconds(4), {"pc1"});
  ASSERT_OK(c.Hello(BackAfterABoot(Terminated())));
  c.Pass(absl::Seconds(2));
  EXPECT_TRUE(Free());
}

TEST_F(GoingDownTest, ABootDoesNotExcuseWhatTheProgramDidBefore) {
  c.Pass(absl::Seconds(4), {"pc1"});
  ASSERT_OK(c.Hello(BackAfterABoot(ValueError())));
  c.Pass(absl::Seconds(2));
  EXPECT_EQ(c.state(run), RunState::kFailed);
  EXPECT_EQ(c.record(run).reason, "rank 0 on pc1 exited with code 1: ValueError: bad shape");
}

// The PC's clock counts from its boot, so that no comparison of clocks tells when it went down.
TEST_F(GoingDownTest, AHelloAfterABootThatIsReadLateDatesNothingBeforeTheBoot) {
  c.Pass(absl::Seconds(8), {"pc1"});
  EXPECT_EQ(c.state(run), RunState::kStopping);
  protocol::Hello hello = BackAfterABoot(Terminated());
  hello.said = absl::Seconds(10);
  c.StandStill(absl::Seconds(9));  // it was sent before that
  ASSERT_OK(c.Hello(hello));
  const absl::Duration beat = absl::Seconds(19), heard = beat + absl::Milliseconds(1);
  c.cluster().NoteTimes(c.now(), {"pc1", hello.incarnation}, {beat, /*heartbeat=*/true});
  c.cluster().NoteTimes(c.now(), {"pc1", hello.incarnation},
                        {heard, /*heartbeat=*/true, beat, heard});
  c.Pass(absl::Seconds(2));
  EXPECT_TRUE(Free());
  EXPECT_THAT(c.TakeEvents("run.requeued"),
              ElementsAre(HasSubstr("nothing heard from pc1 for 6 s")));
}

TEST_F(GoingDownTest, TheNextWorkerTellsACoordinatorThatWasAway) {
  ClusterTester again({}, c.Durable());
  protocol::Hello hello = Back(Terminated());
  hello.attempts[0].halt = {protocol::HaltKind::kLeaving, "pc1 seems to have gone down",
                            absl::Milliseconds(50), absl::Milliseconds(50)};
  ASSERT_OK(again.Hello(hello));
  again.Pass(absl::Seconds(2));
  EXPECT_EQ(again.record(run).failures, 0);
  EXPECT_FALSE(IsTerminal(again.state(run)));
}

TEST_F(GoingDownTest, ACoordinatorThatGoesDownAsWellWaitsForThePcWhenItIsBack) {
  EndsHere(Answered(4));
  ClusterTester again({}, c.Durable());
  again.Pass(absl::Seconds(2));
  EXPECT_EQ(again.state(run), RunState::kStopping);
  protocol::Hello hello = HelloOf("pc1");
  hello.boot_id = "boot-2";
  ASSERT_OK(again.Hello(hello));
  again.Pass(absl::Seconds(1));
  EXPECT_EQ(again.record(run).failures, 0);
  EXPECT_FALSE(IsTerminal(again.state(run)));
}

TEST_F(GoingDownTest, ThePcMayTellItOnTheSameBoot) {
  EndsHere(Terminated());
  ClusterTester again({}, c.Durable());
  protocol::Hello hello = Back(Terminated());
  hello.attempts[0].halt = {protocol::HaltKind::kLeaving, "pc1 seems to have gone down",
                            absl::Milliseconds(50), absl::Seconds(1)};
  ASSERT_OK(again.Hello(hello));
  again.Pass(absl::Seconds(2));
  EXPECT_EQ(again.record(run).failures, 0);
  EXPECT_FALSE(IsTerminal(again.state(run)));
}

TEST_F(GoingDownTest, AnExceptionIsAnAnswerIfItSaysSo) {
  protocol::RankExit exit = ValueError();
  exit.catches_sigterm = true;
  exit.message = "torch.distributed.elastic: SignalException: Process 7 got signal: 15";
  EndsHere(exit);
  c.Pass(absl::Milliseconds(400));
  ASSERT_OK(c.Leaving("pc1", "shutdown"));
  EXPECT_TRUE(Free());
}

// The worker stood still while its PC began to go down.
TEST_F(GoingDownTest, AWorkerMayTellOfTheEndLateAndThenGo) {
  c.Pass(absl::Seconds(2), {"pc1"});
  ASSERT_OK(c.Exit(run, 0, Terminated(), {absl::Seconds(60), absl::Seconds(1.5)}));
  ASSERT_OK(c.Returned(run, "pc1"));
  EXPECT_EQ(c.state(run), RunState::kStopping);
  c.Pass(absl::Milliseconds(100));
  c.Disconnect("pc1", /*reset=*/true);
  c.Pass(absl::Seconds(2));
  EXPECT_TRUE(Free());
}

TEST_F(GoingDownTest, APcThatIsSilentAfterwardsHasNotSaidThatItStays) {
  EndsHere(Terminated());
  c.Pass(absl::Seconds(4), {"pc1"});
  EXPECT_EQ(c.state(run), RunState::kStopping);
  c.Pass(absl::Seconds(4), {"pc1"});
  EXPECT_TRUE(Free());
}

TEST_F(GoingDownTest, APcThatIsHeardAfterwardsStays) {
  EndsHere(Terminated());
  c.Pass(absl::Seconds(2));
  EXPECT_EQ(c.state(run), RunState::kFailed);
  EXPECT_THAT(c.record(run).reason, HasSubstr("SIGTERM"));
}

TEST_F(GoingDownTest, AProgramMayAnswerWithACodeOfItsOwn) {
  EndsHere(Answered(4));
  EXPECT_EQ(c.state(run), RunState::kStopping);
  EXPECT_EQ(c.Wait(run),
            "judging: waits a moment for what pc1 may say: rank 0 on pc1 exited with code 4");
  c.Pass(absl::Milliseconds(800));
  ASSERT_OK(c.Leaving("pc1", "shutdown"));
  EXPECT_TRUE(Free());
}

TEST_F(GoingDownTest, AProgramThatFailsByItselfPaysThoughItCatchesSigterm) {
  EndsHere(Answered(4));
  c.Pass(absl::Seconds(2));
  EXPECT_EQ(c.state(run), RunState::kFailed);
}

TEST_F(GoingDownTest, AnUncaughtExceptionIsNoAnswer) {
  protocol::RankExit exit = ValueError();
  exit.catches_sigterm = true;
  EndsHere(exit);
  EXPECT_EQ(c.state(run), RunState::kFailed);
}

TEST_F(GoingDownTest, ACodeOfAProgramThatDoesNotCatchSigtermIsNoAnswer) {
  EndsHere({.exit_code = 4});
  EXPECT_EQ(c.state(run), RunState::kFailed);
}

class GangGoesDownTest : public GangOfTwo {
 protected:
  // What pc2 says after a boot, before which its rank had ended so.
  protocol::Hello Pc2AfterABoot(const protocol::RankExit& exit) const {
    const protocol::RankAges ago{absl::Seconds(60), absl::Milliseconds(100)};
    protocol::HeldAttempt held = HeldWith({run, 1}, {{1, 1001, exit, ago}});
    held.returned = held.before_boot = true;
    protocol::Hello hello = BackWith("pc2", held);
    hello.boot_id = "boot-2";
    return hello;
  }
  void CostsNothingIfPc2GoesDownAfter(absl::Duration silence) {
    c.Pass(silence);
    ASSERT_OK(c.Leaving("pc2", "shutdown"));
    c.Pass(absl::Seconds(1));
    EXPECT_EQ(c.record(run).failures, 0);
    EXPECT_FALSE(IsTerminal(c.state(run)));
  }
};

TEST_F(GangGoesDownTest, SigtermOfAPcThatGoesDownIsNoFailure) {
  ASSERT_OK(c.Exit(run, 1, Terminated()));
  EXPECT_EQ(c.state(run), RunState::kRunning) << "its node may say why";
  c.Pass(absl::Milliseconds(20));
  ASSERT_OK(c.Leaving("pc2", "shutdown"));
  ASSERT_OK(c.Exit(run, 0, {.signal = 15, .after_stop = true}));
  c.AllReturned(run);
  EXPECT_EQ(c.record(run).failures, 0);
  EXPECT_EQ(c.record(run).losses, 0);
}

TEST_F(GangGoesDownTest, SigtermOfTheOnlyRankWaitsForItsNode) {
  RunRequest alone = Nodes(1);
  alone.node_list = {"pc3"};
  c.Join({"pc3"});
  const RunId id = c.Submit(alone);
  c.Run(id);
  ASSERT_OK(c.Exit(id, 0, Terminated()));
  ASSERT_OK(c.Returned(id, "pc3"));
  EXPECT_EQ(c.state(id), RunState::kStopping);
  c.Pass(absl::Milliseconds(20));
  ASSERT_OK(c.Leaving("pc3", "shutdown"));
  c.Pass(absl::Seconds(1));
  EXPECT_FALSE(IsTerminal(c.state(id)));
  EXPECT_EQ(c.record(id).failures, 0);
}

TEST_F(GangGoesDownTest, SigtermIsExplainedByAWorkerThatGoesAtTheSameTime) {
  ASSERT_OK(c.Exit(run, 1, Terminated()));
  c.Pass(absl::Milliseconds(20));
  c.Disconnect("pc2", /*reset=*/true);
  EXPECT_EQ(c.attempt(run).outcome, AttemptOutcome::kNodeLost);
  EXPECT_THAT(c.record(run).reason, StartsWith("pc2 seems to be going down"));
}

// The coordinator is away while pc2 goes down. It hears pc1 first, whose ranks ended for want of
// pc2's, one of them without a word.
TEST_F(GangGoesDownTest, WhatEndsForWantOfATerminatedRankNeedNotSpeakOfIt) {
  ASSERT_OK(c.Exit(run, 0, {.exit_code = 1, .catches_sigterm = true}));
  c.Pass(absl::Milliseconds(900));
  c.Disconnect("pc2", /*reset=*/true);
  ASSERT_OK(c.Hello(Pc2AfterABoot(Terminated())));
  c.AllReturned(run);
  c.Pass(absl::Seconds(2));
  EXPECT_EQ(c.record(run).failures, 0);
  EXPECT_FALSE(IsTerminal(c.state(run)));
}

// The PC's clock counts from its boot, and the first coordinator has stored which boot that is.
TEST_F(GangGoesDownTest, ASecondCoordinatorIsToldWhatAPcHadBeforeItsBoot) {
  protocol::HeldAttempt held = HeldWith({run, 1}, {});
  held.before_boot = true;
  held.returned = true;
  held.halt = {protocol::HaltKind::kSupervisorLost, "its supervisor was told to end by SIGTERM",
               absl::ZeroDuration(), absl::ZeroDuration()};
  protocol::Hello hello = BackWith("pc2", held);
  hello.boot_id = "boot-2";
  ASSERT_OK(c.Exit(run, 0, {.exit_code = 1, .message = "Connection closed by peer"}));
  c.Pass(absl::Seconds(0.9), {"pc2"});
  ASSERT_OK(c.Hello(hello));
  ClusterTester again({}, c.Durable());
  again.Pass(absl::Milliseconds(300));
  ++hello.incarnation;
  hello.said = absl::Seconds(10);
  ASSERT_OK(again.Hello(hello));
  const absl::Duration beat = absl::Seconds(11), heard = beat + absl::Milliseconds(1);
  again.Pass(absl::Seconds(1), {"pc2"});
  again.cluster().NoteTimes(again.now(), {"pc2", hello.incarnation}, {beat, /*heartbeat=*/true});
  again.cluster().NoteTimes(again.now(), {"pc2", hello.incarnation},
                            {heard, /*heartbeat=*/true, beat, heard});
  protocol::HeldAttempt other = HeldWith({run, 1}, {});
  other.returned = true;
  ASSERT_OK(again.Hello(BackWith("pc1", other)));
  again.Pass(absl::Seconds(3));
  EXPECT_EQ(again.record(run).failures, 0);
  EXPECT_FALSE(IsTerminal(again.state(run)));
}

// The coordinator is started anew, and waits for what pc2 may say of its rank's end.
TEST_F(GangGoesDownTest, AnOwnerWhoTakesThePcMeanwhileDoesNotEndTheWait) {
  ASSERT_OK(c.Exit(run, 1, Terminated()));
  ASSERT_OK(c.Returned(run, "pc2"));
  ClusterTester again({}, c.Durable());
  const protocol::RankExit complaint{.exit_code = 1, .message = "Connection closed by peer"};
  protocol::HeldAttempt rest = HeldWith({run, 1}, {{0, 1000, complaint, {absl::Seconds(30), {}}}});
  rest.returned = true;
  ASSERT_OK(again.Hello(BackWith("pc1", rest)));
  again.Pass(absl::Seconds(2));
  ASSERT_OK(again.Reclaim("pc2"));
  again.Pass(absl::Seconds(2));
  EXPECT_EQ(again.state(run), RunState::kStopping);
  ASSERT_OK(again.Hello(Pc2AfterABoot(Terminated())));
  again.Pass(absl::Seconds(1));
  EXPECT_EQ(again.record(run).failures, 0);
  EXPECT_FALSE(IsTerminal(again.state(run)));
}

// pc2 is cut off, and fails for want of pc1, which its owner has taken. Then it loses its power.
TEST_F(GangGoesDownTest, WhatAPcTellsAfterItsBootMayHaveHappenedAtAnyTimeOfItsSilence) {
  c.Pass(absl::Seconds(3), {"pc2"});
  ASSERT_OK(c.Reclaim("pc1"));
  c.Pass(absl::Seconds(1), {"pc2"});
  ASSERT_OK(c.Hello(Pc2AfterABoot({.exit_code = 1})));
  EXPECT_EQ(Paid(), 0);
}

// The rank of pc2 hears of the SIGTERM 0.4 s before its worker, and ends well. Rank 0 fails at
// once.
TEST_F(GangGoesDownTest, ARankThatAnsweredWithSuccessDatesTheGoingDown) {
  ASSERT_OK(c.Exit(run, 1, Answered(0)));
  ASSERT_OK(c.Returned(run, "pc2"));
  c.Pass(absl::Milliseconds(50));
  ASSERT_OK(c.Exit(run, 0, ValueError()));
  ASSERT_OK(c.Returned(run, "pc1"));
  EXPECT_EQ(c.Wait(run),
            "judging: waits a moment for what pc2 may say: rank 0 on pc1 exited with code 1: "
            "ValueError: bad shape");
  CostsNothingIfPc2GoesDownAfter(absl::Milliseconds(350));
}

// The rank of pc2 was on its way out with 0, and had no handler any more, when the stop came that
// rank 0's failure brought. Its worker hears of the going down 0.3 s later.
TEST_F(GangGoesDownTest, ARankThatTheStopEndedOnItsWayOutDatesTheGoingDown) {
  ASSERT_OK(c.Exit(run, 0, {.exit_code = 1}));
  c.Pass(absl::Milliseconds(20));
  ASSERT_OK(c.Exit(run, 1, {.signal = 15, .after_stop = true, .catches_sigterm = true}));
  c.AllReturned(run);
  EXPECT_EQ(c.state(run), RunState::kStopping);
  CostsNothingIfPc2GoesDownAfter(absl::Milliseconds(300));
}

// The same, but it still exited 0.
TEST_F(GangGoesDownTest, ARankThatExits0JustAfterAFailureWithoutWordsDatesTheGoingDown) {
  ASSERT_OK(c.Exit(run, 0, {.exit_code = 1}));
  c.Pass(absl::Milliseconds(20));
  ASSERT_OK(c.Exit(run, 1, {.exit_code = 0, .after_stop = true, .catches_sigterm = true}));
  c.AllReturned(run);
  EXPECT_EQ(c.state(run), RunState::kStopping);
  CostsNothingIfPc2GoesDownAfter(absl::Milliseconds(300));
}

TEST_F(GangGoesDownTest, AfterAFailureInOwnWordsAnAnswerToTheStopIsNoMore) {
  ASSERT_OK(c.Exit(run, 0, ValueError()));
  c.Pass(absl::Milliseconds(20));
  ASSERT_OK(c.Exit(run, 1, {.exit_code = 0, .after_stop = true, .catches_sigterm = true}));
  c.AllReturned(run);
  EXPECT_EQ(c.state(run), RunState::kFailed);
}

TEST_F(GangGoesDownTest, AnAnswerLongAfterTheStopIsNoMore) {
  ASSERT_OK(c.Exit(run, 0, {.exit_code = 1}));
  c.Pass(absl::Seconds(2));
  ASSERT_OK(c.Exit(run, 1, {.exit_code = 0, .after_stop = true, .catches_sigterm = true}));
  c.AllReturned(run);
  EXPECT_EQ(c.state(run), RunState::kFailed);
}

// It answers at once with a code of its own, and the others fail in words of their own.
TEST_F(GangGoesDownTest, ARankThatAnsweredWithACodeDatesTheGoingDown) {
  ASSERT_OK(c.Exit(run, 1, Answered(4)));
  ASSERT_OK(c.Exit(run, 0, ValueError()));
  c.AllReturned(run);
  CostsNothingIfPc2GoesDownAfter(absl::Milliseconds(400));
}

TEST_F(GangGoesDownTest, ARankThatTheStopEndedAndThatCatchesNoSigtermSaysNothing) {
  ASSERT_OK(c.Exit(run, 0, {.exit_code = 1}));
  c.Pass(absl::Milliseconds(20));
  ASSERT_OK(c.Exit(run, 1, {.signal = 15, .after_stop = true}));
  c.AllReturned(run);
  EXPECT_EQ(c.state(run), RunState::kFailed);
}

// Rank 0 had caught an exception a while before it failed for want of rank 1, so that its failure
// may have come first. Everything has returned when pc2 says that it goes.
TEST_F(GangGoesDownTest, ARankThatSigtermEndedDatesTheGoingDownForFailuresThatMayHaveComeFirst) {
  protocol::RankExit caught = ValueError();
  caught.words_before_end = absl::Seconds(1);
  ASSERT_OK(c.Exit(run, 0, caught));
  ASSERT_OK(c.Exit(run, 1, Terminated()));
  c.AllReturned(run);
  EXPECT_EQ(c.state(run), RunState::kStopping);
  CostsNothingIfPc2GoesDownAfter(absl::Milliseconds(100));
}

TEST_F(GangGoesDownTest, ARankThatEndsWellAndWhosePcStaysExcusesNothing) {
  ASSERT_OK(c.Exit(run, 1, Answered(0)));
  c.Pass(absl::Milliseconds(50));
  ASSERT_OK(c.Exit(run, 0, ValueError()));
  c.AllReturned(run);
  c.Pass(absl::Milliseconds(1800));
  EXPECT_EQ(c.state(run), RunState::kFailed);
}

TEST_F(GangGoesDownTest, WhatFailedBeforeARankEndedWellIsTheProgramsOwn) {
  ASSERT_OK(c.Exit(run, 0, ValueError()));
  c.Pass(absl::Seconds(3));
  ASSERT_OK(c.Exit(run, 1, Answered(0)));
  ASSERT_OK(c.Leaving("pc2", "shutdown"));
  Paid();
  EXPECT_EQ(c.state(run), RunState::kFailed);
}

TEST_F(GangGoesDownTest, APcThatGoesDownLongAfterItsRankEndedWellExcusesNothing) {
  ASSERT_OK(c.Exit(run, 1, Answered(0)));
  c.Pass(absl::Milliseconds(50));
  ASSERT_OK(c.Exit(run, 0, ValueError()));
  c.Pass(absl::Seconds(3));
  ASSERT_OK(c.Leaving("pc2", "shutdown"));
  Paid();
  EXPECT_EQ(c.state(run), RunState::kFailed);
}

TEST_F(GangGoesDownTest, APcThatGoesDownKillsAndOnlyItsBootTellsOfThat) {
  c.Pass(absl::Seconds(2), {"pc2"});
  ASSERT_OK(c.Hello(Pc2AfterABoot({.signal = 9})));
  EXPECT_EQ(Paid(), 0);
}

TEST_F(GangGoesDownTest, SigtermThatSomebodyElseSentFailsTheRunAfterASecond) {
  ASSERT_OK(c.Exit(run, 1, Terminated()));
  c.Pass(absl::Seconds(1));
  EXPECT_EQ(c.state(run), RunState::kStopping);
  c.AllReturned(run);
  EXPECT_EQ(c.state(run), RunState::kFailed);
  EXPECT_EQ(c.record(run).exit_code, 143);
}

}  // namespace
}  // namespace hpc::coordinator::testing
