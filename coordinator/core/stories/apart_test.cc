// The nodes of a gang did not hear each other for a moment, which breaks no lease. Programs with
// short time limits fail of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"
#include "coordinator/core/testing/gang_of_two.h"

namespace hpc::coordinator::testing {
namespace {

using ::testing::HasSubstr;

class ApartTest : public GangOfTwo {
 protected:
  // Rank 0 fails now. Its node did not hear the others between two times before.
  void Fails(const std::string& words, absl::Duration from, absl::Duration until = {}) {
    protocol::RankAges ago{absl::Seconds(30), absl::ZeroDuration()};
    ago.apart = protocol::Apart{from, until};
    ASSERT_OK(c.Exit(run, 0, {.exit_code = 1, .message = words}, ago));
  }
};

constexpr char kComplaint[] = "RuntimeError: Timed out waiting for a peer";

TEST_F(ApartTest, AComplaintIsNotTheProgramsFault) {
  Fails(kComplaint, absl::Seconds(2.5));
  c.Pass(absl::Seconds(1));
  EXPECT_THAT(c.attempt(run).reason,
              HasSubstr("pc1 did not hear all others of the gang for 2.5 s, and then rank 0"));
  EXPECT_EQ(Paid(), 0);
}

TEST_F(ApartTest, NorIsWhatFailsThereInWordsOfItsOwn) {
  Fails("my trainer: worker 1 went away", absl::Seconds(2.5));
  EXPECT_EQ(Paid(), 0);
}

TEST_F(ApartTest, SoIsWhatTakesAWhileToEndAfterItsTraceback) {
  protocol::RankAges ago{absl::Seconds(30), absl::ZeroDuration()};
  ago.apart = protocol::Apart{absl::Seconds(3.5), absl::Seconds(1)};
  ASSERT_OK(c.Exit(run, 0,
                   {.exit_code = 1,
                    .message = "my trainer: worker 1 went away",
                    .words_before_end = absl::Seconds(1.2)},
                   ago));
  EXPECT_EQ(Paid(), 0);
}

TEST_F(ApartTest, WhatARankHadSpokenOfBeforeTheStopMayHaveBeenCaught) {
  Fails(kComplaint, absl::Seconds(2.5));
  c.Pass(absl::Seconds(1));
  ASSERT_OK(c.Exit(run, 1,
                   {.signal = 15,
                    .after_stop = true,
                    .message = "ValueError: could not upload, trying again",
                    .traceback = "Traceback ..."}));
  EXPECT_THAT(c.attempt(run).reason, HasSubstr("did not hear all others"));
  EXPECT_EQ(Paid(), 0);
}

TEST_F(ApartTest, TheErrorThatThePeersComplainOfIs) {
  Fails(kComplaint, absl::Seconds(2.5));
  ASSERT_OK(c.Exit(run, 1, {.exit_code = 1, .message = "ValueError: bad shape"}));
  EXPECT_EQ(Paid(), 1);
}

TEST_F(ApartTest, WhatIsLongOverExplainsNothing) {
  Fails(kComplaint, absl::Seconds(20), absl::Seconds(17));
  EXPECT_EQ(Paid(), 1);
}

TEST_F(ApartTest, ACoordinatorThatRestartsBeforeItHasJudgedIsToldAgain) {
  Fails(kComplaint, absl::Seconds(2.5));
  ClusterTester again({}, c.Durable());
  const auto rank = [](int32_t number) {
    return protocol::HeldRank{number, 1000, std::nullopt, {absl::Seconds(31), {}}};
  };
  protocol::HeldRank failed = rank(0);
  failed.exit = protocol::RankExit{.exit_code = 1, .message = kComplaint};
  failed.ago.ended = absl::Seconds(1);
  failed.ago.apart = protocol::Apart{absl::Seconds(3.5), absl::Seconds(1)};
  ASSERT_OK(again.Hello(BackWith("pc2", HeldWith({run, 1}, {rank(1)}))));
  ASSERT_OK(again.Hello(BackWith("pc1", HeldWith({run, 1}, {failed}))));
  again.Pass(absl::Seconds(3));
  EXPECT_THAT(again.attempt(run).reason, HasSubstr("pc1 did not hear all others of the gang"));
  again.AllReturned(run);
  again.Pass(absl::Seconds(2));
  EXPECT_EQ(again.record(run).failures, 0);
}

TEST_F(ApartTest, WhatWasJudgedBeforeARestartIsNotToldAgain) {
  ASSERT_OK(c.Exit(run, 0, {.signal = 11}));
  ASSERT_EQ(c.state(run), RunState::kStopping);
  ClusterTester again({}, c.Durable());
  protocol::HeldRank failed{0, 1000, protocol::RankExit{.signal = 11}, {absl::Seconds(31), {}}};
  failed.ago.apart = protocol::Apart{absl::Seconds(3.5), absl::ZeroDuration()};
  ASSERT_OK(again.Hello(BackWith("pc2", HeldWith({run, 1}, {}))));
  ASSERT_OK(again.Hello(BackWith("pc1", HeldWith({run, 1}, {failed}))));
  again.AllReturned(run);
  again.Pass(absl::Seconds(2));
  EXPECT_EQ(again.record(run).failures, 1);
}

TEST_F(ApartTest, WhatBeganWithTheStopExplainsNothing) {
  ASSERT_OK(c.Exit(run, 1, {.exit_code = 1, .message = kComplaint}));
  c.Pass(absl::Seconds(3));
  ASSERT_EQ(c.state(run), RunState::kStopping);
  Fails("ValueError: bad shape", absl::Seconds(1.5));
  EXPECT_EQ(Paid(), 1);
}

// A worker that connects anew while the attempt is being stopped tells its ends again.
TEST_F(ApartTest, WhatEndedAfterItWasToldToTellsOfNoTimeApart) {
  ASSERT_OK(c.Exit(run, 0, {.exit_code = 1, .message = "TimeoutError: timed out reading batch 7"}));
  c.Pass(absl::Seconds(3));
  ASSERT_EQ(c.state(run), RunState::kStopping);
  const protocol::RankExit stopped{.signal = 15, .after_stop = true};
  ASSERT_OK(c.Exit(run, 1, stopped));
  c.Disconnect("pc2", /*reset=*/false);
  protocol::HeldRank told{1, 1001, stopped, {absl::Seconds(33), absl::Milliseconds(500)}};
  told.ago.apart = protocol::Apart{absl::Seconds(3.5), absl::Seconds(1)};
  ASSERT_OK(c.Hello(BackWith("pc2", HeldWith({run, 1}, {told}))));
  EXPECT_EQ(Paid(), 1);
}

TEST_F(ApartTest, ARestartedCoordinatorJudgesAlike) {
  Fails(kComplaint, absl::Seconds(2.5));
  c.Pass(absl::Seconds(1));
  ClusterTester again({}, c.Durable());
  for (const char* name : {"pc1", "pc2"}) {
    protocol::HeldAttempt held = HeldWith({run, 1}, {});
    held.returned = true;
    ASSERT_OK(again.Hello(BackWith(name, held)));
  }
  again.Pass(absl::Seconds(3));
  EXPECT_EQ(again.record(run).failures, 0);
  EXPECT_EQ(again.record(run).losses, 1);
}

}  // namespace
}  // namespace hpc::coordinator::testing
