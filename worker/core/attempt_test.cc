#include "worker/core/attempt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"
#include "common/testing/at.h"
#include "protocol/limits.h"
#include "worker/core/testing/said.h"

namespace hpc::worker {
namespace {

using testing::All;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Said;
using ::testing::SizeIs;
using Phase = Attempt::Phase;

constexpr AttemptRef kRef{12, 2};

protocol::Prepare TwoRanks() {
  protocol::Prepare prepare;
  prepare.ref = kRef;
  prepare.devices = {0, 1};
  prepare.first_rank = 4;
  prepare.ranks = 2;
  return prepare;
}

protocol::Prepared Ready() { return {kRef, absl::OkStatus(), "10.0.0.1", 4321, true}; }

protocol::RankExit Code(int code, bool after_stop = false) {
  protocol::RankExit exit;
  exit.exit_code = code;
  exit.after_stop = after_stop;
  return exit;
}

Attempt PreparedAttempt() {
  Attempt attempt(TwoRanks());
  Effects effects;
  attempt.OnPrepared(At(0), Ready(), &effects);
  return attempt;
}

Attempt RunningAttempt() {
  Attempt attempt = PreparedAttempt();
  Effects effects;
  attempt.OnStart(At(10), protocol::Start{kRef, "10.0.0.1", 4321, protocol::StoreHost::kWorker},
                  &effects);
  attempt.OnRankStarted(At(11), 4, 104, absl::Seconds(1), &effects);
  attempt.OnRankStarted(At(11), 5, 105, absl::Milliseconds(500), &effects);
  return attempt;
}

TEST(AttemptTest, SaysThatItIsPrepared) {
  Attempt attempt(TwoRanks());
  Effects effects;
  attempt.OnPrepared(At(0), Ready(), &effects);
  EXPECT_EQ(attempt.phase(), Phase::kPrepared);
  ASSERT_THAT(Said<protocol::Prepared>(effects), SizeIs(1));
  EXPECT_EQ(Said<protocol::Prepared>(effects)[0].store_port, 4321);
}

TEST(AttemptTest, ARefusedPreparationIsSaidAndOver) {
  Attempt attempt(TwoRanks());
  Effects effects;
  attempt.OnPrepared(
      At(0), {kRef, absl::NotFoundError("pc1: command 'x' was not found"), "", 0, true}, &effects);
  EXPECT_EQ(attempt.phase(), Phase::kReturned);
  EXPECT_FALSE(attempt.live());
  ASSERT_THAT(Said<protocol::Prepared>(effects), SizeIs(1));
  EXPECT_EQ(Said<protocol::Prepared>(effects)[0].status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Said<protocol::AttemptReturned>(effects), SizeIs(1));
}

TEST(AttemptTest, AskedToPrepareAgainItAnswersAgain) {
  Attempt attempt = PreparedAttempt();
  Effects effects;
  attempt.OnPrepareAgain(&effects);
  ASSERT_THAT(effects, SizeIs(1));
  EXPECT_EQ(Said<protocol::Prepared>(effects)[0].store_port, 4321);
}

TEST(AttemptTest, SaysStartedOnceWhenEveryRankRuns) {
  Attempt attempt = PreparedAttempt();
  Effects effects;
  attempt.OnStart(At(10), protocol::Start{kRef, "10.0.0.1", 4321, protocol::StoreHost::kWorker},
                  &effects);
  ASSERT_THAT(All<StartAttempt>(effects), SizeIs(1));
  EXPECT_EQ(All<StartAttempt>(effects)[0].start.master_port, 4321);
  attempt.OnRankStarted(At(11), 4, 104, absl::Seconds(1), &effects);
  EXPECT_THAT(Said<protocol::Started>(effects), IsEmpty());
  attempt.OnRankStarted(At(12), 5, 105, absl::Milliseconds(20), &effects);
  ASSERT_THAT(Said<protocol::Started>(effects), SizeIs(1));
  EXPECT_EQ(Said<protocol::Started>(effects)[0].ranks[0].ago.started, absl::Seconds(2));
  EXPECT_EQ(Said<protocol::Started>(effects)[0].ranks[1].ago.started, absl::Milliseconds(20));
  EXPECT_EQ(Said<protocol::Started>(effects)[0].ranks[1].pid, 105);
  EXPECT_EQ(attempt.phase(), Phase::kRunning);
}

// This must fit into the time that a test has. It would not if all ranks were looked at each time
// that one starts.
TEST(AttemptTest, SaysSoOfAsManyRanksAsThereMayBe) {
  protocol::Prepare prepare = TwoRanks();
  prepare.first_rank = 0;
  prepare.ranks = protocol::kMaxRanks;
  for (int attempts = 0; attempts < 8; ++attempts) {
    Attempt attempt(prepare);
    Effects effects;
    attempt.OnPrepared(At(0), Ready(), &effects);
    attempt.OnStart(At(10), protocol::Start{kRef, "10.0.0.1", 4321, protocol::StoreHost::kWorker},
                    &effects);
    for (int32_t rank = 0; rank < protocol::kMaxRanks; ++rank) {
      attempt.OnRankStarted(At(11), rank, 100 + rank, {}, &effects);
    }
    EXPECT_THAT(Said<protocol::Started>(effects), SizeIs(1));
  }
}

TEST(AttemptTest, AStartBeforeItIsPreparedIsIgnoredWithANote) {
  Attempt attempt(TwoRanks());
  Effects effects;
  attempt.OnStart(At(10), protocol::Start{kRef, "10.0.0.1", 4321, protocol::StoreHost::kWorker},
                  &effects);
  EXPECT_THAT(All<StartAttempt>(effects), IsEmpty());
  ASSERT_THAT(All<Note>(effects), SizeIs(1));
  EXPECT_THAT(All<Note>(effects)[0].text, HasSubstr("while preparing"));
}

TEST(AttemptTest, AskedToStartAgainItSaysAgainThatItRuns) {
  Attempt attempt = RunningAttempt();
  Effects effects;
  attempt.OnStart(At(11), protocol::Start{kRef, "10.0.0.1", 4321, protocol::StoreHost::kWorker},
                  &effects);
  EXPECT_THAT(All<StartAttempt>(effects), IsEmpty());
  EXPECT_THAT(Said<protocol::Started>(effects), SizeIs(1));
}

TEST(AttemptTest, ARankThatCannotBeExecutedIsReportedBehindStarted) {
  Attempt attempt = PreparedAttempt();
  Effects effects;
  attempt.OnStart(At(10), protocol::Start{kRef, "10.0.0.1", 4321, protocol::StoreHost::kWorker},
                  &effects);
  attempt.OnRankStarted(At(10), 4, 104, absl::ZeroDuration(), &effects);
  effects.clear();
  attempt.OnRankExited(At(10), 5, Code(126), {}, &effects);
  ASSERT_THAT(effects, SizeIs(2));
  ASSERT_THAT(Said<protocol::Started>(effects), SizeIs(1));
  EXPECT_THAT(Said<protocol::Started>(effects)[0].ranks, SizeIs(1));
  EXPECT_EQ(Said<protocol::RankEnded>(effects)[0].exit, Code(126));
}

TEST(AttemptTest, AnEndIsReportedWithItsAgeAndOnlyOnce) {
  Attempt attempt = RunningAttempt();
  Effects effects;
  attempt.OnRankExited(At(20), 4, Code(1), {absl::Seconds(3), absl::Milliseconds(30)}, &effects);
  attempt.OnRankExited(At(21), 4, Code(0), {}, &effects);
  ASSERT_THAT(Said<protocol::RankEnded>(effects), SizeIs(1));
  EXPECT_EQ(Said<protocol::RankEnded>(effects)[0].ago,
            (protocol::RankAges{absl::Seconds(3), absl::Milliseconds(30)}));
  EXPECT_EQ(attempt.running_ranks(), 1);
}

TEST(AttemptTest, AnEndOfAForeignRankIsIgnored) {
  Attempt attempt = RunningAttempt();
  Effects effects;
  attempt.OnRankExited(At(20), 77, Code(1), {}, &effects);
  EXPECT_THAT(effects, IsEmpty());
}

TEST(AttemptTest, AStopBeforeTheStartUndoesThePreparation) {
  for (Attempt attempt : {Attempt(TwoRanks()), PreparedAttempt()}) {
    Effects effects;
    attempt.OnStop(At(0), {kRef, absl::Seconds(30), "pc2 cannot prepare"}, &effects);
    EXPECT_THAT(All<StopAttempt>(effects), SizeIs(1));
    attempt.OnReturned(At(0), {}, &effects);
    EXPECT_THAT(Said<protocol::AttemptReturned>(effects), SizeIs(1));
    EXPECT_EQ(attempt.phase(), Phase::kReturned);
  }
}

TEST(AttemptTest, APreparationThatEndsAfterTheStopIsNotReported) {
  Attempt attempt(TwoRanks());
  Effects effects;
  attempt.OnStop(At(0), {kRef, absl::Seconds(30), "cancelled"}, &effects);
  effects.clear();
  attempt.OnPrepared(At(0), Ready(), &effects);
  EXPECT_THAT(effects, IsEmpty());
  EXPECT_TRUE(attempt.live());
}

TEST(AttemptTest, AStopOfWhatHasReturnedIsAnsweredAgain) {
  Attempt attempt = RunningAttempt();
  Effects effects;
  attempt.OnReturned(At(0), {protocol::HaltKind::kSupervisorLost, "its supervisor was killed"},
                     &effects);
  effects.clear();
  attempt.OnStop(At(0), {kRef, absl::Seconds(30), "cancelled"}, &effects);
  ASSERT_THAT(effects, SizeIs(1));
  EXPECT_EQ(Said<protocol::AttemptReturned>(effects)[0].halt.reason, "its supervisor was killed");
}

TEST(AttemptTest, ASecondStopIsPassedOnSinceItMayBeShorter) {
  Attempt attempt = RunningAttempt();
  Effects effects;
  attempt.OnStop(At(0), {kRef, absl::Seconds(30), "cancelled"}, &effects);
  attempt.OnStop(At(0), {kRef, absl::Seconds(1), "reclaimed"}, &effects);
  ASSERT_THAT(All<StopAttempt>(effects), SizeIs(2));
  EXPECT_EQ(All<StopAttempt>(effects)[1].grace, absl::Seconds(1));
}

TEST(AttemptTest, ItsFilesGoWhenItIsForgottenAndReturned) {
  Attempt attempt = RunningAttempt();
  Effects effects;
  attempt.OnReturned(At(0), {}, &effects);
  EXPECT_THAT(All<DropAttempt>(effects), IsEmpty());
  attempt.OnForget(At(0), &effects);
  EXPECT_THAT(All<DropAttempt>(effects), SizeIs(1));
  EXPECT_EQ(attempt.phase(), Phase::kForgotten);
}

TEST(AttemptTest, ForgottenWhileItRunsItIsStoppedFirst) {
  Attempt attempt = RunningAttempt();
  Effects effects;
  attempt.OnForget(At(0), &effects);
  attempt.OnForget(At(0), &effects);
  EXPECT_THAT(All<StopAttempt>(effects), SizeIs(1));
  EXPECT_THAT(All<DropAttempt>(effects), IsEmpty());
  attempt.OnReturned(At(0), {}, &effects);
  EXPECT_THAT(All<DropAttempt>(effects), SizeIs(1));
}

TEST(AttemptTest, WhatWeStoppedOurselvesIsReportedAsLost) {
  Attempt attempt = RunningAttempt();
  Effects effects;
  attempt.StopForOurselves(At(0), absl::Seconds(10),
                           {protocol::HaltKind::kCutOff, "pc1 had no contact"}, &effects);
  attempt.OnReturned(At(0), {}, &effects);
  ASSERT_THAT(Said<protocol::AttemptReturned>(effects), SizeIs(1));
  EXPECT_EQ(Said<protocol::AttemptReturned>(effects)[0].halt.reason, "pc1 had no contact");
}

TEST(AttemptTest, WhatTheSupervisorDidBeforeAnOrderIsToldAlsoIfTheOrderWasReadFirst) {
  Attempt attempt = RunningAttempt();
  Effects effects;
  attempt.OnStop(At(5), {kRef, absl::Seconds(30), "rank 0 failed"}, &effects);
  attempt.OnStoppedItself(At(6), {protocol::HaltKind::kCutOff, "fence", absl::Seconds(2)},
                          &effects);
  ASSERT_THAT(Said<protocol::AttemptHalted>(effects), SizeIs(1));
  attempt.OnReturned(At(7), {}, &effects);
  EXPECT_EQ(Said<protocol::AttemptReturned>(effects)[0].halt,
            (protocol::Halt{protocol::HaltKind::kCutOff, "fence", absl::Seconds(3)}));
}

// A worker that stood still for a minute finds two things at once: that it had no contact, and that
// the supervisor died some time in that minute.
TEST(AttemptTest, ASupervisorThatMayHaveDiedBeforeOurStopIsTheReason) {
  const auto reason = [](absl::Duration unseen) {
    Attempt attempt = RunningAttempt();
    Effects effects;
    attempt.StopForOurselves(At(80), absl::Seconds(10),
                             {protocol::HaltKind::kCutOff, "pc1 had no contact"}, &effects);
    attempt.OnReturned(At(82),
                       {protocol::HaltKind::kSupervisorLost, "its supervisor was killed",
                        absl::Seconds(1), unseen},
                       &effects);
    return Said<protocol::AttemptReturned>(effects)[0].halt.reason;
  };
  EXPECT_EQ(reason(absl::Seconds(60)), "its supervisor was killed");
  EXPECT_EQ(reason(absl::Milliseconds(250)), "pc1 had no contact") << "it died after the stop";
}

TEST(AttemptTest, AHaltOfAPcThatGoesDownReachesBackToTheRanksThatGotSigtermFirst) {
  const auto within = [](protocol::HaltKind kind, int rank_ended_s,
                         const protocol::RankExit& exit) {
    Attempt attempt = RunningAttempt();
    Effects effects;
    const protocol::RankAges ages{absl::Seconds(10), absl::ZeroDuration(), absl::Milliseconds(250)};
    attempt.OnRankExited(At(rank_ended_s), 4, exit, ages, &effects);
    attempt.StopForOurselves(At(20), absl::Seconds(10), {kind, "goes"}, &effects);
    return Said<protocol::AttemptHalted>(effects)[0].halt.within;
  };
  const protocol::RankExit terminated{std::nullopt, 15, false, "", ""};
  const protocol::RankExit told{std::nullopt, 15, /*after_stop=*/true, "", ""};
  EXPECT_EQ(within(protocol::HaltKind::kLeaving, 19, terminated), absl::Milliseconds(1250));
  EXPECT_EQ(within(protocol::HaltKind::kSupervisorLost, 20, terminated), absl::Milliseconds(250));
  EXPECT_EQ(within(protocol::HaltKind::kLeaving, 18, terminated), absl::ZeroDuration());
  EXPECT_EQ(within(protocol::HaltKind::kLeaving, 20, told), absl::ZeroDuration());
  EXPECT_EQ(within(protocol::HaltKind::kLeaving, 20, Code(1)), absl::ZeroDuration());
  EXPECT_EQ(within(protocol::HaltKind::kOwner, 20, terminated), absl::ZeroDuration());
}

TEST(AttemptTest, TheWorkerBeforeWasToldToEndAtAboutTheTimeWhenRanksEndedBySigterm) {
  const auto halt = [](const protocol::RankExit& exit, int told_s) {
    AdoptedAttempt adopted;
    adopted.ref = kRef;
    adopted.started = adopted.returned = true;
    adopted.ranks = {{4, 104, exit, {absl::Seconds(60), absl::Seconds(20)}}};  // at 80 s
    Attempt attempt(At(100), adopted);
    attempt.FormerWasToldToEnd(At(100), At(told_s), "goes down");
    return attempt.Held(At(100)).halt;
  };
  const protocol::RankExit terminated{.signal = 15};
  const protocol::RankExit answered{.exit_code = 4, .catches_sigterm = true};
  EXPECT_EQ(halt(terminated, 80), (protocol::Halt{protocol::HaltKind::kLeaving, "goes down",
                                                  absl::Seconds(20), absl::Seconds(1)}));
  EXPECT_EQ(halt(terminated, 79).ago, absl::Seconds(21));
  EXPECT_EQ(halt(terminated, 81).kind, protocol::HaltKind::kLeaving);
  EXPECT_EQ(halt(answered, 80).kind, protocol::HaltKind::kLeaving);
  EXPECT_EQ(halt(terminated, 82), protocol::Halt());
  EXPECT_EQ(halt(terminated, 78), protocol::Halt());
  EXPECT_EQ(halt(Code(4), 80), protocol::Halt());
  EXPECT_EQ(halt(Code(0), 80), protocol::Halt());
}

TEST(AttemptTest, AnEndTellsForHowLongOthersOfTheGangWereNotHeard) {
  const auto apart = [](const std::vector<int>& heard_s, int ended_s) {
    Attempt attempt = PreparedAttempt();
    Effects started;
    attempt.OnStart(At(10), {kRef, "10.0.0.1", 4321, protocol::StoreHost::kWorker, true}, &started);
    attempt.OnRankStarted(At(10), 4, 104, {}, &started);
    for (const int at : heard_s) attempt.OnHeardAll(At(at));
    Effects effects;
    attempt.OnRankExited(At(ended_s), 4, Code(1), {absl::Seconds(9), {}}, &effects);
    return attempt.Held(At(ended_s)).ranks[0].ago.apart;
  };
  using protocol::Apart;
  EXPECT_EQ(apart({}, 12), (Apart{absl::Seconds(2), {}})) << "they were never heard";
  EXPECT_EQ(apart({11}, 11), (Apart{absl::Seconds(1), {}}));
  EXPECT_EQ(apart({27}, 30), (Apart{absl::Seconds(3), {}})) << "it goes on";
  EXPECT_EQ(apart({25, 28}, 28), (Apart{absl::Seconds(3), {}})) << "it is over";
  EXPECT_EQ(apart({25, 28}, 31), (Apart{absl::Seconds(3), {}})) << "the last one counts";
}

TEST(AttemptTest, OurOwnStopDoesNotReplaceTheReasonOfAnEarlierOne) {
  Attempt attempt = RunningAttempt();
  Effects effects;
  attempt.OnStop(At(0), {kRef, absl::Seconds(30), "cancelled"}, &effects);
  attempt.StopForOurselves(At(0), absl::Seconds(10),
                           {protocol::HaltKind::kCutOff, "pc1 had no contact"}, &effects);
  attempt.OnReturned(At(0), {}, &effects);
  EXPECT_EQ(Said<protocol::AttemptReturned>(effects)[0].halt.reason, "");
}

TEST(AttemptTest, TimeThatTheMachineSleptIsPartOfTheAgesOfWhatIsHeld) {
  Attempt attempt = RunningAttempt();
  Effects effects;
  attempt.OnRankExited(At(30), 4, Code(3), {absl::Seconds(3), absl::Seconds(1)}, &effects);
  attempt.OnSlept(absl::Seconds(100));
  EXPECT_EQ(attempt.Held(At(40)).ranks[0].ago,
            (protocol::RankAges{absl::Seconds(113), absl::Seconds(111)}));
}

TEST(AttemptTest, AHelloTellsWhatIsHeld) {
  Attempt attempt = RunningAttempt();
  Effects effects;
  attempt.OnRankExited(At(30), 4, Code(3), {absl::Seconds(3), absl::Seconds(1)}, &effects);
  const protocol::HeldAttempt held = attempt.Held(At(40));
  EXPECT_EQ(held.ref, kRef);
  EXPECT_TRUE(held.started);
  EXPECT_FALSE(held.returned);
  ASSERT_THAT(held.ranks, SizeIs(2));
  EXPECT_EQ(held.ranks[0].exit, Code(3));
  EXPECT_EQ(held.ranks[0].ago, (protocol::RankAges{absl::Seconds(13), absl::Seconds(11)}));
  EXPECT_EQ(held.ranks[1].ago, (protocol::RankAges{absl::Seconds(29.5), absl::ZeroDuration()}));
  EXPECT_EQ(held.ranks[1].pid, 105);
  EXPECT_FALSE(held.ranks[1].exit);
}

TEST(AttemptTest, AnAdoptedOneGoesOnWhereItWas) {
  AdoptedAttempt adopted;
  adopted.ref = kRef;
  adopted.devices = {3};
  adopted.started = true;
  adopted.ranks = {{4, 104, std::nullopt, {absl::Seconds(60), {}}},
                   {5, 105, Code(0), {absl::Seconds(60), absl::Seconds(7)}}};
  Attempt attempt(At(100), adopted);
  EXPECT_EQ(attempt.phase(), Phase::kRunning);
  EXPECT_EQ(attempt.running_ranks(), 1);
  const protocol::HeldAttempt held = attempt.Held(At(101));
  EXPECT_EQ(held.ranks[0].ago, (protocol::RankAges{absl::Seconds(61), absl::ZeroDuration()}));
  EXPECT_EQ(held.ranks[1].ago, (protocol::RankAges{absl::Seconds(61), absl::Seconds(8)}));
  Effects effects;
  attempt.OnRankExited(At(102), 4, Code(0), {}, &effects);
  EXPECT_THAT(Said<protocol::Started>(effects), IsEmpty());
  EXPECT_THAT(Said<protocol::RankEnded>(effects), SizeIs(1));
}

TEST(AttemptTest, WhatIsKnownOfAnAdoptedOneGrowsOlderUntilItIsAdopted) {
  AdoptedAttempt adopted;
  adopted.ref = kRef;
  adopted.started = adopted.returned = true;
  adopted.ranks = {{4, 104, Code(1), {absl::Seconds(60), absl::Seconds(7)}}};
  adopted.halt = {protocol::HaltKind::kCutOff, "no contact", absl::Seconds(8)};
  adopted.Age(absl::Seconds(2));
  const protocol::HeldAttempt held = Attempt(At(100), adopted).Held(At(100));
  EXPECT_EQ(held.ranks[0].ago, (protocol::RankAges{absl::Seconds(62), absl::Seconds(9)}));
  EXPECT_EQ(held.halt.ago, absl::Seconds(10));
}

TEST(AttemptTest, AnAdoptedOneThatIsOverOnlyHasFiles) {
  AdoptedAttempt adopted;
  adopted.ref = kRef;
  adopted.returned = true;
  adopted.halt = {protocol::HaltKind::kSupervisorLost, "its supervisor was killed"};
  Attempt attempt(At(0), adopted);
  EXPECT_FALSE(attempt.live());
  EXPECT_TRUE(attempt.Held(At(0)).returned);
  EXPECT_EQ(attempt.Held(At(0)).halt.reason, "its supervisor was killed");
}

}  // namespace
}  // namespace hpc::worker
