// What an agent does for attempts whose nodes vouch for one another.
#include <gmock/gmock.h>

#include <optional>

#include "worker/core/testing/agent_tester.h"

namespace hpc::worker {
namespace {

using testing::All;
using ::testing::IsEmpty;
using testing::Said;
using ::testing::SizeIs;

// One rank of a witnessed attempt. The welcome was at 0 s; contact keeps it alive for 5 s, vouching
// for 2 s.
class WitnessedTest : public AgentTester {
 protected:
  WitnessedTest() { Connect(); }
  Effects Begin() {
    Hear(OneRank());
    ReportPrepared();
    return Hear(
        protocol::Start{kRef, "10.0.0.1", 1, protocol::StoreHost::kWorker, /*witnessed=*/true});
  }
  Effects Whole(absl::Duration ago) {
    Effects effects;
    agent_.OnWhole(now(), kRef, now().mono - ago, &effects);
    return effects;
  }
  void EndRank(const protocol::RankExit& exit) {
    Effects effects;
    agent_.OnRankStarted(now(), kRef, 0, 100, {}, &effects);
    agent_.OnRankExited(now(), kRef, 0, exit, {}, &effects);
  }
  // How long from now its ranks may live, as was last said; nothing if nothing was said.
  std::optional<absl::Duration> Lives(const Effects& effects) const {
    const auto told = All<SetFence>(effects);
    if (told.empty()) return std::nullopt;
    return told.back().until - now().mono;
  }
};

TEST_F(WitnessedTest, RanksAreGivenTheirTimeBeforeTheyAreStarted) {
  Stay(absl::Seconds(2));
  const Effects effects = Begin();
  ASSERT_THAT(effects, SizeIs(2));
  EXPECT_EQ(Lives(effects), absl::Seconds(3)) << "since the hello";
  EXPECT_TRUE(std::holds_alternative<StartAttempt>(effects[1]));
}

TEST_F(WitnessedTest, OnlyWhatTheCoordinatorHasHeardIsContact) {
  Begin();
  Stay(absl::Seconds(4));
  EXPECT_EQ(Lives(Hear(protocol::Heard{now().mono - absl::Seconds(1)})), absl::Seconds(4));
  EXPECT_EQ(Lives(Stay(absl::Seconds(20))), std::nullopt) << "the connection is still open";
  EXPECT_EQ(Lives(Hear(protocol::Heard{MonoTime{}})), std::nullopt) << "a late answer";
}

TEST_F(WitnessedTest, NothingThatIsStillToBeSaidIsContact) {
  Begin();
  Stay(absl::Seconds(1));
  EXPECT_EQ(Lives(Hear(protocol::Heard{now().mono + absl::Hours(1)})), absl::Seconds(5));
}

TEST_F(WitnessedTest, NothingIsWholeInTimeToCome) {
  Begin();
  Stay(absl::Seconds(4));
  EXPECT_EQ(Lives(Whole(-absl::Hours(1))), absl::Seconds(2));
}

TEST_F(WitnessedTest, ANewConnectionIsContactSinceItsHello) {
  Begin();
  LoseLink();
  Wait(absl::Seconds(10));
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(Lives(Hear(protocol::Welcome{})), absl::Seconds(4));
}

TEST_F(WitnessedTest, AWholeAttemptLivesOnWithoutTheCoordinator) {
  Begin();
  LoseLink();
  Stay(absl::Seconds(3));
  EXPECT_EQ(Lives(Whole(absl::Milliseconds(300))), std::nullopt) << "contact lasts longer";
  Stay(absl::Seconds(1));
  EXPECT_EQ(Lives(Whole(absl::Milliseconds(300))), absl::Milliseconds(1700));
  EXPECT_EQ(Lives(Whole(absl::Milliseconds(290))), std::nullopt) << "not worth telling";
  Stay(absl::Minutes(4));
  EXPECT_EQ(Lives(Whole(absl::ZeroDuration())), absl::Seconds(2));
  EXPECT_THAT(All<StopAttempt>(Stay(absl::Minutes(1))), SizeIs(1)) << "stop_after_disconnect";
}

TEST_F(WitnessedTest, ADoubtIsAnsweredAndKeptFromThenOn) {
  Begin();
  EXPECT_TRUE(agent_.Vouches(now(), kRef));
  const Effects effects = Hear(protocol::Doubt{kRef, absl::Seconds(3), {absl::Microseconds(77)}});
  ASSERT_THAT(Said<protocol::Doubted>(effects), SizeIs(1));
  EXPECT_EQ(Said<protocol::Doubted>(effects)[0].asked, MonoTime{absl::Microseconds(77)});
  EXPECT_FALSE(agent_.Vouches(now(), kRef));
  Stay(absl::Seconds(2));
  Hear(protocol::Doubt{kRef, absl::Milliseconds(1), {}});
  EXPECT_FALSE(agent_.Vouches(now(), kRef)) << "a promise is not shortened";
  Stay(absl::Seconds(1));
  EXPECT_TRUE(agent_.Vouches(now(), kRef));
}

TEST_F(WitnessedTest, WhatIsStoppingOrOverIsNotVouchedFor) {
  Begin();
  Hear(protocol::Stop{kRef, absl::Seconds(30), "cancelled"});
  EXPECT_FALSE(agent_.Vouches(now(), kRef));
  Return();
  EXPECT_FALSE(agent_.Vouches(now(), kRef));
  EXPECT_EQ(Lives(Whole(absl::ZeroDuration())), std::nullopt);
}

TEST_F(WitnessedTest, APartThatEndedWellIsVouchedForOn) {
  Begin();
  EndRank({.exit_code = 0});
  Return();
  EXPECT_EQ(agent_.VouchFor(now(), kRef), Vouch::kYes);
  EXPECT_EQ(Lives(Whole(absl::ZeroDuration())), std::nullopt) << "nothing of it is left";
  agent_.OnDropped(kRef);
  EXPECT_FALSE(agent_.Vouches(now(), kRef));
}

TEST_F(WitnessedTest, OnceTheCoordinatorHasHeardOfItsEndNobodyNeedsToWaitForIt) {
  Begin();
  EndRank({.exit_code = 0});
  const MonoTime before = now().mono;
  Return();
  Stay(absl::Seconds(1));
  Hear(protocol::Heard{before});
  EXPECT_EQ(agent_.VouchFor(now(), kRef), Vouch::kYes) << "it was said before";
  Hear(protocol::Heard{now().mono});
  EXPECT_EQ(agent_.VouchFor(now(), kRef), Vouch::kForGood);
}

TEST_F(WitnessedTest, AHelloTellsOfTheEndToo) {
  Begin();
  LoseLink();
  EndRank({.exit_code = 0});
  Return();
  EXPECT_EQ(agent_.VouchFor(now(), kRef), Vouch::kYes);
  Wait(absl::Seconds(10));
  Hear(protocol::Welcome{});
  EXPECT_EQ(agent_.VouchFor(now(), kRef), Vouch::kForGood);
}

TEST_F(WitnessedTest, APromiseHoldsOverTheEndOfThePart) {
  Begin();
  Hear(protocol::Doubt{kRef, absl::Seconds(3), {absl::Microseconds(77)}});
  EndRank({.exit_code = 0});
  Return();
  Stay(absl::Seconds(2));
  Hear(protocol::Heard{now().mono});
  EXPECT_EQ(agent_.VouchFor(now(), kRef), Vouch::kNo);
  Stay(absl::Seconds(1));
  EXPECT_EQ(agent_.VouchFor(now(), kRef), Vouch::kForGood);
  Hear(protocol::Doubt{kRef, absl::Seconds(3), {}});
  EXPECT_EQ(agent_.VouchFor(now(), kRef), Vouch::kNo) << "it may be that only it is there";
}

TEST_F(WitnessedTest, APartThatEndedBadlyIsNotVouchedFor) {
  for (const protocol::RankExit& exit :
       {protocol::RankExit{.exit_code = 1}, protocol::RankExit{.signal = 9},
        protocol::RankExit{.exit_code = 0, .after_stop = true}}) {
    agent_ = Agent("pc1", now(), {}, {});
    Connect();
    Begin();
    EndRank(exit);
    Return();
    EXPECT_EQ(agent_.VouchFor(now(), kRef), Vouch::kNo);
  }
}

TEST_F(WitnessedTest, NorIsOneThatHadASupervisorKilledOrWasStopped) {
  Begin();
  EndRank({.exit_code = 0});
  Effects effects;
  agent_.OnReturned(now(), kRef, {protocol::HaltKind::kSupervisorLost, "its supervisor was killed"},
                    &effects);
  EXPECT_EQ(agent_.VouchFor(now(), kRef), Vouch::kNo);
  agent_ = Agent("pc1", now(), {}, {});
  Connect();
  Begin();
  EndRank({.exit_code = 0});
  Hear(protocol::Stop{kRef, absl::Seconds(30), "cancelled"});
  Return();
  EXPECT_EQ(agent_.VouchFor(now(), kRef), Vouch::kNo);
}

// The other process may have promised not to vouch.
TEST_F(WitnessedTest, APartThatAnotherProcessSawEndIsNotVouchedFor) {
  AdoptedAttempt adopted;
  adopted.ref = kRef;
  adopted.started = true;
  adopted.witnessed = true;
  adopted.ranks = {{0, 100, protocol::RankExit{.exit_code = 0}, {}}};
  adopted.returned = true;
  agent_ = Agent("pc1", now(), {}, {adopted});
  Connect();
  EXPECT_EQ(agent_.VouchFor(now(), kRef), Vouch::kNo);
}

TEST_F(WitnessedTest, AnotherProcessDoesNothingForItBeforeItIsWelcomed) {
  AdoptedAttempt adopted;
  adopted.ref = kRef;
  adopted.started = true;
  adopted.witnessed = true;
  adopted.ranks = {{0, 100, std::nullopt, {}}};
  agent_ = Agent("pc1", now(), {}, {adopted});
  const Effects opened = Tick();
  EXPECT_TRUE(All<OpenLink>(opened)[0].hello.attempts[0].witnessed);
  EXPECT_FALSE(agent_.Vouches(now(), kRef));
  EXPECT_EQ(Lives(Whole(absl::ZeroDuration())), std::nullopt);
  EXPECT_EQ(Lives(Hear(protocol::Welcome{})), absl::Seconds(5));
  EXPECT_TRUE(agent_.Vouches(now(), kRef));
}

TEST_F(WitnessedTest, SuspendedTimeCounts) {
  Begin();
  LoseLink();
  Whole(absl::ZeroDuration());
  Effects effects;
  agent_.OnResumed(now(), absl::Minutes(1), &effects);
  EXPECT_EQ(Lives(Whole(absl::Minutes(1))), std::nullopt) << "it was too long ago";
}

TEST_F(WitnessedTest, AnAttemptThatIsNotWitnessedIsNotFenced) {
  Run();
  EXPECT_EQ(Lives(Hear(protocol::Heard{now().mono})), std::nullopt);
  EXPECT_FALSE(agent_.Vouches(now(), kRef));
}

}  // namespace
}  // namespace hpc::worker
