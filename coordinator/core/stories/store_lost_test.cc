// The worker that serves a gang's rendezvous store is restarted, and the store is gone. The gang
// trains on without it until a rank needs it again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"
#include "coordinator/core/testing/gang_of_two.h"

namespace hpc::coordinator::testing {
namespace {

using ::testing::HasSubstr;

class StoreLostTest : public GangOfTwo {
 protected:
  // The next worker of pc1 finds its rank again, and no store.
  void LoseStore() {
    c.Disconnect("pc1", /*reset=*/true);
    c.Pass(absl::Milliseconds(300));
    protocol::HeldAttempt held = HeldWith({run, 1}, {{0, 100, {}, {absl::Seconds(30)}}});
    held.store_lost = absl::ZeroDuration();
    ASSERT_OK(c.Hello(BackWith("pc1", held)));
  }
  void Complains(int rank) {
    ASSERT_OK(c.Exit(run, rank, {.exit_code = 1, .message = "Connection closed by peer"}));
  }
};

TEST_F(StoreLostTest, ItsRanksHaveMetAndGoOn) {
  LoseStore();
  c.Pass(absl::Minutes(1));
  EXPECT_EQ(c.state(run), RunState::kRunning);
}

TEST_F(StoreLostTest, WhoeverComplainsLongAfterwardsMayNeedIt) {
  LoseStore();
  c.Pass(absl::Minutes(20));
  Complains(1);
  c.Pass(absl::Seconds(1));
  EXPECT_THAT(c.record(run).reason, HasSubstr("store was lost with the worker of pc1, and then"));
  EXPECT_EQ(Paid(), 0);
}

TEST_F(StoreLostTest, WhoeverFailsAtOnceMayHaveNeededItInWordsOfItsOwn) {
  LoseStore();
  ASSERT_OK(c.Exit(run, 1, {.exit_code = 3, .message = "my trainer: cannot go on"}));
  EXPECT_EQ(Paid(), 0);
}

TEST_F(StoreLostTest, ACrashLongAfterwardsIsTheProgramsOwn) {
  LoseStore();
  c.Pass(absl::Seconds(20));
  ASSERT_OK(c.Exit(run, 1, {.signal = 11}));
  Complains(0);
  EXPECT_EQ(Paid(), 1);
  EXPECT_EQ(c.record(run).reason, "rank 1 on pc2 was killed by SIGSEGV");
}

TEST_F(StoreLostTest, SoItIsWhenItsPeerIsHeardFirst) {
  LoseStore();
  c.Pass(absl::Seconds(20));
  Complains(0);
  ASSERT_OK(c.Exit(run, 1, {.exit_code = 1, .message = "ValueError: bad shape"}));
  EXPECT_EQ(Paid(), 1);
}

TEST_F(StoreLostTest, ACrashThatCameBeforeIsTheProgramsOwn) {
  ASSERT_OK(c.Exit(run, 1, {.signal = 11}));
  c.Pass(absl::Seconds(4));
  LoseStore();
  EXPECT_EQ(Paid(), 1);
}

}  // namespace
}  // namespace hpc::coordinator::testing
