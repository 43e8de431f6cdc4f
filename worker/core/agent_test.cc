#include "worker/core/agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "common/status_matchers.h"
#include "protocol/limits.h"
#include "worker/core/testing/agent_tester.h"

namespace hpc::worker {
namespace {

using AgentTest = AgentTester;
using testing::All;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Said;
using ::testing::SizeIs;

TEST_F(AgentTest, SaysHelloAtOnceAndHeartbeatsOnceWelcome) {
  const Effects opened = Tick();
  ASSERT_THAT(All<OpenLink>(opened), SizeIs(1));
  EXPECT_THAT(All<OpenLink>(opened)[0].hello.attempts, IsEmpty());
  Hear(protocol::Welcome{});
  EXPECT_THAT(All<SayHeartbeat>(Wait(absl::Seconds(2))), SizeIs(1));
}

TEST_F(AgentTest, TwoQuickHeartbeatsTellTheCoordinatorHowTheClocksLie) {
  Connect();
  const Effects first = Tick();
  ASSERT_THAT(All<SayHeartbeat>(first), SizeIs(1));
  EXPECT_FALSE(All<SayHeartbeat>(first)[0].answer_may_wait);
  Hear(protocol::Heard{now().mono});
  EXPECT_THAT(All<SayHeartbeat>(Tick()), SizeIs(1)) << "which says when the answer came";
  Hear(protocol::Heard{now().mono});
  EXPECT_THAT(All<SayHeartbeat>(Tick()), IsEmpty());
}

TEST_F(AgentTest, APartThatEndedWellIsConfirmedAtOnce) {
  Settle();
  Run();
  Effects effects;
  agent_.OnRankExited(now(), kRef, 0, {0, {}, false, "", ""}, {}, &effects);
  EXPECT_THAT(All<SayHeartbeat>(Tick()), IsEmpty());
  Return();
  EXPECT_THAT(All<SayHeartbeat>(Tick()), SizeIs(1));
}

TEST_F(AgentTest, WhatEndsRanksHereIsSaidAtOnceAndWithTheReturn) {
  Settle();
  Run();
  Effects effects;
  agent_.OnStoppedItself(now(), kRef, {protocol::HaltKind::kCutOff, "fence"}, &effects);
  ASSERT_THAT(Said<protocol::AttemptHalted>(effects), SizeIs(1));
  EXPECT_EQ(Said<protocol::AttemptHalted>(effects)[0].halt.reason, "fence");
  EXPECT_EQ(Said<protocol::AttemptReturned>(Return())[0].halt.reason, "fence");
}

TEST_F(AgentTest, WaitsForTheAnswerToAHeartbeatOnlyWhileItHasAnAttempt) {
  Settle();
  EXPECT_TRUE(All<SayHeartbeat>(Wait(absl::Seconds(2)))[0].answer_may_wait);
  Hear(OneRank());
  EXPECT_FALSE(All<SayHeartbeat>(Wait(absl::Seconds(2)))[0].answer_may_wait);
}

TEST_F(AgentTest, SaysOnceWhyItIsNotConnected) {
  Tick();
  const Effects effects = LoseLink();
  ASSERT_THAT(All<Note>(effects), SizeIs(1));
  EXPECT_THAT(All<Note>(effects)[0].text, HasSubstr("connection reset"));
  Wait(absl::Seconds(1));
  EXPECT_THAT(All<Note>(LoseLink()), IsEmpty());
  Wait(absl::Seconds(1));
  Hear(protocol::Welcome{});
  EXPECT_THAT(All<Note>(LoseLink()), SizeIs(1));
}

TEST_F(AgentTest, PreparesStartsAndReturnsAnAttempt) {
  Connect();
  EXPECT_THAT(All<PrepareAttempt>(Hear(OneRank())), SizeIs(1));
  EXPECT_THAT(Said<protocol::Prepared>(ReportPrepared()), SizeIs(1));
  EXPECT_THAT(
      All<StartAttempt>(Hear(protocol::Start{kRef, "10.0.0.1", 1, protocol::StoreHost::kWorker})),
      SizeIs(1));
  Effects effects;
  agent_.OnRankStarted(now(), kRef, 0, 100, {}, &effects);
  EXPECT_THAT(Said<protocol::Started>(effects), SizeIs(1));
  EXPECT_THAT(Said<protocol::AttemptReturned>(Return()), SizeIs(1));
  EXPECT_THAT(All<DropAttempt>(Hear(protocol::Forget{kRef})), SizeIs(1));
  agent_.OnDropped(kRef);
  EXPECT_THAT(agent_.attempts(), IsEmpty());
}

TEST_F(AgentTest, DoesNotGiveADeviceTwice) {
  Connect();
  Run();
  const Effects effects = Hear(OneRank({13, 1}));
  EXPECT_THAT(All<PrepareAttempt>(effects), IsEmpty());
  ASSERT_THAT(Said<protocol::Prepared>(effects), SizeIs(1));
  EXPECT_THAT(
      Said<protocol::Prepared>(effects)[0].status,
      testing::StatusIs(absl::StatusCode::kUnavailable, "pc1: device 0 is used by attempt 12.1"));
  EXPECT_THAT(All<PrepareAttempt>(Hear(OneRank({14, 1}, 1))), SizeIs(1));
}

TEST_F(AgentTest, RefusesRanksThatNoRunCanHave) {
  Connect();
  constexpr int32_t kMax = std::numeric_limits<int32_t>::max();
  const std::pair<int32_t, int32_t> kFirstAndCount[] = {
      {0, -1}, {-1, 1}, {0, kMax}, {kMax, 2}, {1, protocol::kMaxRanks}};
  AttemptRef ref = kRef;
  for (const auto& [first, count] : kFirstAndCount) {
    protocol::Prepare prepare = OneRank({++ref.run, 1});
    prepare.first_rank = first;
    prepare.ranks = count;
    const Effects effects = Hear(prepare);
    EXPECT_THAT(All<PrepareAttempt>(effects), IsEmpty());
    ASSERT_THAT(Said<protocol::Prepared>(effects), SizeIs(1));
    EXPECT_THAT(Said<protocol::Prepared>(effects)[0].status.message(),
                HasSubstr("the placement contradicts itself"));
    EXPECT_THAT(Said<protocol::AttemptReturned>(effects), SizeIs(1));
  }
  EXPECT_THAT(All<PrepareAttempt>(Hear(OneRank())), SizeIs(1)) << "device 0 is still free";
}

TEST_F(AgentTest, ADeviceIsFreeOnceItsAttemptHasReturned) {
  Connect();
  Run();
  Return();
  EXPECT_THAT(All<PrepareAttempt>(Hear(OneRank({13, 1}))), SizeIs(1));
}

TEST_F(AgentTest, RefusesAnAttemptThatWasReplaced) {
  Connect();
  Hear(OneRank({12, 3}));
  const Effects effects = Hear(OneRank({12, 2}, 1));
  EXPECT_THAT(All<PrepareAttempt>(effects), IsEmpty());
  EXPECT_THAT(Said<protocol::Prepared>(effects)[0].status,
              testing::StatusIs(absl::StatusCode::kFailedPrecondition,
                                "pc1: attempt 12.2 was replaced by 12.3"));
}

TEST_F(AgentTest, ANewerAttemptEndsTheOlderOne) {
  Connect();
  Run();
  const Effects effects = Hear(OneRank({12, 2}, 1));
  ASSERT_THAT(All<StopAttempt>(effects), SizeIs(1));
  EXPECT_EQ(All<StopAttempt>(effects)[0].ref, kRef);
  EXPECT_THAT(All<PrepareAttempt>(effects), SizeIs(1));
}

TEST_F(AgentTest, TakesNothingFromWhoHasNotWelcomedIt) {
  Tick();
  const Effects effects = Hear(OneRank());
  EXPECT_THAT(All<PrepareAttempt>(effects), IsEmpty());
  EXPECT_THAT(All<Note>(effects), SizeIs(1));
  Hear(protocol::Welcome{});
  EXPECT_THAT(All<PrepareAttempt>(Hear(OneRank())), SizeIs(1));
}

TEST_F(AgentTest, AStopOfAnUnknownAttemptIsAnsweredAsReturned) {
  Connect();
  EXPECT_THAT(
      Said<protocol::AttemptReturned>(Hear(protocol::Stop{{99, 1}, absl::Seconds(1), "lost"})),
      SizeIs(1));
}

TEST_F(AgentTest, SaysNothingWhileDisconnectedAndEverythingInTheNextHello) {
  Connect();
  Run();
  LoseLink();
  protocol::RankExit exit;
  exit.exit_code = 3;
  Effects effects;
  agent_.OnRankExited(now(), kRef, 0, exit, {}, &effects);
  EXPECT_THAT(All<Say>(effects), IsEmpty());
  const Effects opened = Wait(absl::Seconds(1));
  ASSERT_THAT(All<OpenLink>(opened), SizeIs(1));
  const protocol::Hello hello = All<OpenLink>(opened)[0].hello;
  ASSERT_THAT(hello.attempts, SizeIs(1));
  EXPECT_EQ(hello.attempts[0].ranks[0].exit, exit);
  EXPECT_EQ(hello.attempts[0].ranks[0].ago.ended, absl::Seconds(1));
}

TEST_F(AgentTest, WhatHappensBetweenHelloAndWelcomeIsSaidBehindTheHello) {
  Connect();
  Run();
  LoseLink();
  Wait(absl::Seconds(1));
  EXPECT_THAT(Said<protocol::AttemptReturned>(Return()), SizeIs(1));
}

TEST_F(AgentTest, KeepsSupervisorsAliveWhileConnected) {
  Connect();
  Run();
  EXPECT_THAT(All<ExtendLeases>(Stay(absl::Seconds(28))), IsEmpty()) << "the welcome did";
  EXPECT_THAT(All<ExtendLeases>(Stay(absl::Seconds(1))), SizeIs(1));
  EXPECT_THAT(All<ExtendLeases>(Stay(absl::Seconds(28))), IsEmpty());
  EXPECT_THAT(All<ExtendLeases>(Stay(absl::Seconds(1))), SizeIs(1));
  Stay(absl::Seconds(20));
  EXPECT_THAT(All<ExtendLeases>(LoseLink()), SizeIs(1)) << "five minutes begin with the last word";
  EXPECT_THAT(All<ExtendLeases>(Wait(absl::Seconds(100))), IsEmpty());
  EXPECT_THAT(All<ExtendLeases>(LoseLink()), IsEmpty());
}

TEST_F(AgentTest, ALinkThatBrokeBehindAStandstillExtendsNothing) {
  Connect();
  Run();
  clock_.Advance(absl::Minutes(4));
  EXPECT_THAT(All<ExtendLeases>(LoseLink()), IsEmpty());
}

TEST_F(AgentTest, AnIdleNodeHasNoDeadlineButItsHeartbeat) {
  Settle();
  EXPECT_EQ(agent_.NextDeadline(), now().mono + absl::Seconds(2));
}

TEST_F(AgentTest, CutOffTooLongItStopsItsRanksOnce) {
  Connect();
  Run();
  Stay(absl::Seconds(60));
  LoseLink();
  // Whatever was said in the last 12 seconds of the connection may not have reached the
  // coordinator.
  EXPECT_THAT(All<StopAttempt>(Wait(absl::Seconds(287))), IsEmpty());
  const Effects effects = Wait(absl::Seconds(1));
  ASSERT_THAT(All<StopAttempt>(effects), SizeIs(1));
  EXPECT_THAT(All<StopAttempt>(effects)[0].reason,
              HasSubstr("pc1 had no contact with the coordinator for 5 min"));
  EXPECT_THAT(All<StopAttempt>(Wait(absl::Seconds(1))), IsEmpty());
}

TEST_F(AgentTest, WhatCannotGoOnIsStoppedAndTheReasonReported) {
  Connect();
  Run();
  Effects effects;
  agent_.OnDoomed(now(), kRef, "its rendezvous store was lost", &effects);
  ASSERT_THAT(All<StopAttempt>(effects), SizeIs(1));
  EXPECT_EQ(Said<protocol::AttemptReturned>(Return())[0].halt.reason,
            "its rendezvous store was lost");
}

TEST_F(AgentTest, TheOwnerGetsThePcEvenWhileDisconnected) {
  Connect();
  Run();
  LoseLink();
  const Effects effects = Reclaim();
  ASSERT_THAT(All<StopAttempt>(effects), SizeIs(1));
  EXPECT_EQ(All<StopAttempt>(effects)[0].grace, absl::Seconds(10));
  EXPECT_THAT(All<Say>(effects), IsEmpty());
  ASSERT_THAT(All<SaveOwner>(effects), SizeIs(1));
  EXPECT_TRUE(All<SaveOwner>(effects)[0].state.unsent);
  clock_.Advance(absl::Seconds(3));
  Return();
  EXPECT_EQ(agent_.yield().last_return(), absl::Seconds(3));

  const Effects opened = Tick();
  EXPECT_TRUE(All<OpenLink>(opened)[0].hello.owner_changed);
  EXPECT_TRUE(All<OpenLink>(opened)[0].hello.reclaimed);
  const Effects welcomed = Hear(protocol::Welcome{});
  ASSERT_THAT(All<SaveOwner>(welcomed), SizeIs(1));
  EXPECT_FALSE(All<SaveOwner>(welcomed)[0].state.unsent);
}

TEST_F(AgentTest, ATakenPcRefusesWork) {
  Connect();
  Reclaim();
  EXPECT_THAT(Said<protocol::Prepared>(Hear(OneRank()))[0].status,
              testing::StatusIs(absl::StatusCode::kUnavailable, HasSubstr("owner")));
}

TEST_F(AgentTest, TellsTheCoordinatorOfTheOwnersWish) {
  Connect();
  const Effects effects = Reclaim(absl::Hours(2));
  ASSERT_THAT(Said<protocol::OwnerChanged>(effects), SizeIs(1));
  EXPECT_EQ(Said<protocol::OwnerChanged>(effects)[0].duration, absl::Hours(2));
  Effects lent;
  agent_.Lend(now(), &lent);
  EXPECT_FALSE(Said<protocol::OwnerChanged>(lent)[0].reclaimed);
}

TEST_F(AgentTest, AWishThatMayHaveBeenLostWithTheLinkIsSaidAgain) {
  Connect();
  Reclaim();
  clock_.Advance(absl::Seconds(5));
  LoseLink();
  const Effects opened = Wait(absl::Seconds(1));
  EXPECT_TRUE(All<OpenLink>(opened)[0].hello.owner_changed);
}

TEST_F(AgentTest, AWishThatWasAnsweredIsNotSaidAgain) {
  Connect();
  Reclaim();
  EXPECT_THAT(All<SaveOwner>(Wait(absl::Seconds(12))), IsEmpty()) << "time proves nothing";
  const Effects answered = Hear(protocol::SetOwner{true, std::nullopt, ""});
  ASSERT_THAT(All<SaveOwner>(answered), SizeIs(1));
  EXPECT_FALSE(All<SaveOwner>(answered)[0].state.unsent);
  EXPECT_EQ(All<SaveOwner>(answered)[0].state.reason, "a game");
  LoseLink();
  const Effects opened = Wait(absl::Seconds(1));
  EXPECT_FALSE(All<OpenLink>(opened)[0].hello.owner_changed);
  EXPECT_TRUE(All<OpenLink>(opened)[0].hello.reclaimed);
}

TEST_F(AgentTest, TheCoordinatorMayReclaimAndLendToo) {
  Connect();
  Run();
  protocol::SetOwner taken;
  taken.reclaimed = true;
  taken.grace = absl::Seconds(25);
  const Effects effects = Hear(taken);
  ASSERT_THAT(All<StopAttempt>(effects), SizeIs(1));
  EXPECT_EQ(All<StopAttempt>(effects)[0].grace, absl::Seconds(25));
  taken.grace = absl::Seconds(10);
  EXPECT_THAT(All<StopAttempt>(Hear(taken)), IsEmpty()) << "it is being stopped for that already";
  EXPECT_THAT(Said<protocol::OwnerChanged>(effects), IsEmpty());
  Hear(protocol::SetOwner{});
  EXPECT_FALSE(agent_.yield().reclaimed());
}

TEST_F(AgentTest, WhatTheCoordinatorSaidBeforeItHeardOfTheOwnersWishDoesNotUndoIt) {
  Connect();
  Reclaim();
  Hear(protocol::SetOwner{});
  EXPECT_TRUE(agent_.yield().reclaimed());
  Hear(protocol::SetOwner{true, std::nullopt, ""});
  Hear(protocol::SetOwner{});
  EXPECT_FALSE(agent_.yield().reclaimed()) << "said after it had heard of it";
}

TEST_F(AgentTest, TheEndOfAWishThatWasNotAnsweredIsSaid) {
  Connect();
  Reclaim(absl::Seconds(5));
  const Effects over = Wait(absl::Seconds(5));
  ASSERT_THAT(Said<protocol::OwnerChanged>(over), SizeIs(1));
  EXPECT_FALSE(Said<protocol::OwnerChanged>(over)[0].reclaimed);
  Hear(protocol::SetOwner{true, std::nullopt, ""});  // it answers what was said first
  EXPECT_FALSE(agent_.yield().reclaimed());
}

TEST_F(AgentTest, SleepsOnlyWhenNothingRuns) {
  Connect();
  Run();
  const Effects refused = Hear(protocol::GoToSleep{"asked"});
  EXPECT_THAT(All<Sleep>(refused), IsEmpty());
  ASSERT_THAT(Said<protocol::SleepFailed>(refused), SizeIs(1));
  EXPECT_EQ(Said<protocol::SleepFailed>(refused)[0].error, "ranks still run there");
  Return();
  EXPECT_THAT(All<Sleep>(Hear(protocol::GoToSleep{"asked"})), SizeIs(1));
  Effects effects;
  agent_.OnPowerCommandEnded();
  agent_.OnFallingAsleep("asked", &effects);
  EXPECT_THAT(Said<protocol::Leaving>(effects), SizeIs(1));
}

TEST_F(AgentTest, DoesNotSleepWhileThePcIsItsOwners) {
  Connect();
  Effects effects;
  agent_.Reclaim(now(), {}, &effects);
  const Effects refused = Hear(protocol::GoToSleep{"asked"});
  EXPECT_THAT(All<Sleep>(refused), IsEmpty());
  ASSERT_THAT(Said<protocol::SleepFailed>(refused), SizeIs(1));
  EXPECT_EQ(Said<protocol::SleepFailed>(refused)[0].error, "its owner has taken it back");
  agent_.Lend(now(), &effects);
  EXPECT_THAT(All<Sleep>(Hear(protocol::GoToSleep{"asked"})), SizeIs(1));
}

TEST_F(AgentTest, RunsOnePowerCommandAtATime) {
  Connect();
  EXPECT_THAT(All<Sleep>(Hear(protocol::GoToSleep{"asked"})), SizeIs(1));
  const Effects again = Hear(protocol::GoToSleep{"asked once more"});
  EXPECT_THAT(All<Sleep>(again), IsEmpty());
  ASSERT_THAT(Said<protocol::SleepFailed>(again), SizeIs(1));
  EXPECT_EQ(Said<protocol::SleepFailed>(again)[0].error, "its power command has not ended yet");
  agent_.OnPowerCommandEnded();
  EXPECT_THAT(All<Sleep>(Hear(protocol::GoToSleep{"asked"})), SizeIs(1));
}

TEST_F(AgentTest, ConnectsAnewAfterASleepAndSaysSo) {
  Connect();
  Effects effects;
  agent_.OnResumed(now(), absl::Hours(8), &effects);
  EXPECT_THAT(All<CloseLink>(effects), SizeIs(1));
  const Effects opened = Tick();
  ASSERT_THAT(All<OpenLink>(opened), SizeIs(1));
  EXPECT_TRUE(All<OpenLink>(opened)[0].hello.resumed);
  Hear(protocol::Welcome{});
  LoseLink();
  EXPECT_FALSE(All<OpenLink>(Wait(absl::Seconds(1)))[0].hello.resumed);
}

TEST_F(AgentTest, TimeAsleepCountsAsTimeWithoutContact) {
  Connect();
  Run();
  Effects effects;
  agent_.OnResumed(now(), absl::Hours(8), &effects);
  EXPECT_THAT(All<StopAttempt>(Tick()), SizeIs(1));
}

TEST_F(AgentTest, KeepsNoSupervisorAliveWhileItsConnectionIsUnproven) {
  Connect();
  Run();
  clock_.Advance(absl::Minutes(4));  // the process was stopped, and continues
  EXPECT_THAT(All<ExtendLeases>(Tick()), IsEmpty());
  EXPECT_THAT(All<ExtendLeases>(Stay(absl::Seconds(11))), IsEmpty());
  EXPECT_THAT(All<ExtendLeases>(Stay(absl::Seconds(1))), SizeIs(1));
}

TEST_F(AgentTest, AFailedPowerCommandIsSaidOnTheConnectionThatStays) {
  Connect();
  Effects effects;
  agent_.OnSleepFailed("no logind here", &effects);
  ASSERT_THAT(Said<protocol::SleepFailed>(effects), SizeIs(1));
  EXPECT_EQ(Said<protocol::SleepFailed>(effects)[0].error, "no logind here");
  EXPECT_THAT(All<CloseLink>(effects), IsEmpty());
}

TEST_F(AgentTest, LeavingWithoutRanksIsSaid) {
  Connect();
  Effects effects;
  agent_.Leave(now(), {"the worker was stopped", true}, {}, false, &effects);
  ASSERT_THAT(Said<protocol::Leaving>(effects), SizeIs(1));
  EXPECT_TRUE(Said<protocol::Leaving>(effects)[0].stays_on);
  EXPECT_TRUE(agent_.ReadyToExit());
}

TEST_F(AgentTest, APcThatFallsAsleepDoesNotStayOn) {
  Connect();
  Effects effects;
  agent_.OnFallingAsleep("asked to", &effects);
  ASSERT_THAT(Said<protocol::Leaving>(effects), SizeIs(1));
  EXPECT_FALSE(Said<protocol::Leaving>(effects)[0].stays_on);
}

TEST_F(AgentTest, RanksThatAreLeftBehindAreHandedOverToTheNextWorker) {
  Connect();
  Run();
  Effects effects;
  agent_.Leave(now(), {"the worker was stopped", true}, {}, false, &effects);
  EXPECT_THAT(Said<protocol::Leaving>(effects), IsEmpty());
  EXPECT_THAT(Said<protocol::HandingOver>(effects), SizeIs(1));
  EXPECT_THAT(All<StopAttempt>(effects), IsEmpty());
  EXPECT_TRUE(agent_.ReadyToExit());
}

TEST_F(AgentTest, ARecallIsCarriedOutAndItsOutcomeSaid) {
  Connect();
  const protocol::Recall recall{
      {12, 2}, "pc2", "10.0.0.2", {4711, "key", "proof"}, absl::Seconds(1)};
  ASSERT_THAT(All<RecallRanks>(Hear(recall)), SizeIs(1));
  Effects after;
  agent_.OnRecalled({recall.ref, recall.node, absl::OkStatus()}, &after);
  EXPECT_THAT(Said<protocol::Recalled>(after), SizeIs(1));
}

TEST_F(AgentTest, AskedToEndRanksItLeavesWhenTheyAreGone) {
  Connect();
  Run();
  Effects effects;
  agent_.Leave(now(), {"the worker was stopped", true}, {}, true, &effects);
  EXPECT_THAT(All<StopAttempt>(effects), SizeIs(1));
  EXPECT_FALSE(agent_.ReadyToExit());
  Return();
  EXPECT_THAT(Said<protocol::Leaving>(Tick()), SizeIs(1));
  EXPECT_TRUE(agent_.ReadyToExit());
}

TEST_F(AgentTest, APcThatGoesDownEndsItsRanksAndSaysSoFirst) {
  Connect();
  Run();
  Effects effects;
  agent_.Leave(now(), {"the PC is going down", false}, absl::Milliseconds(20), false, &effects);
  ASSERT_THAT(Said<protocol::AttemptHalted>(effects), SizeIs(1));
  EXPECT_EQ(Said<protocol::AttemptHalted>(effects)[0].halt,
            (protocol::Halt{protocol::HaltKind::kLeaving, "pc1: the PC is going down",
                            absl::Milliseconds(20)}));
  EXPECT_THAT(All<StopAttempt>(effects), SizeIs(1));
  EXPECT_THAT(Said<protocol::HandingOver>(effects), IsEmpty());
  EXPECT_FALSE(agent_.ReadyToExit());
  Return();
  EXPECT_FALSE(Said<protocol::Leaving>(Tick())[0].stays_on);
}

TEST_F(AgentTest, ALeavingWorkerTakesNoWorkAndDoesNotReconnect) {
  Connect();
  Effects effects;
  agent_.Leave(now(), {"the worker was stopped", true}, {}, false, &effects);
  EXPECT_THAT(Said<protocol::Prepared>(Hear(OneRank()))[0].status,
              testing::StatusIs(absl::StatusCode::kUnavailable, HasSubstr("is stopping")));
  LoseLink();
  EXPECT_THAT(All<OpenLink>(Wait(absl::Minutes(1))), IsEmpty());
}

}  // namespace
}  // namespace hpc::worker
