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

TEST_F(ApartTest, TheErrorThatThePeersComplainOfIs) {
  Fails(kComplaint, absl::Seconds(2.5));
  ASSERT_OK(c.Exit(run, 1, {.exit_code = 1, .message = "ValueError: bad shape"}));
  EXPECT_EQ(Paid(), 1);
}

TEST_F(ApartTest, WhatIsLongOverExplainsNothing) {
  Fails(kComplaint, absl::Seconds(20), absl::Seconds(17));
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
