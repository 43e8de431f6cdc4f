// The worker that serves a gang's rendezvous store is restarted, and the store is gone. The gang
// trains on without it until a rank needs it again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"
#include "coordinator/core/testing/cluster_tester.h"

namespace hpc::coordinator::testing {
namespace {

using ::testing::HasSubstr;

// A gang that runs on pc1 and pc2; pc1 serves its store.
class StoreLostTest : public ::testing::Test {
 protected:
  StoreLostTest() {
    c.Join({"pc1", "pc2"});
    run = c.Submit(Nodes(2));
    c.Run(run);
    c.Pass(absl::Seconds(5));
  }

  void LoseStore() {
    c.Disconnect("pc1", /*reset=*/true);
    c.Pass(absl::Milliseconds(300));
    protocol::Hello hello = HelloOf("pc1");
    hello.incarnation = 2;
    protocol::HeldAttempt held;
    held.ref = {run, 1};
    held.started = true;
    held.store_lost = absl::ZeroDuration();
    held.ranks = {{0, 100, {}, {absl::Seconds(5)}}};
    hello.attempts.push_back(held);
    ASSERT_OK(c.Hello(hello));
    ASSERT_EQ(c.state(run), RunState::kRunning) << "its ranks have met";
  }
  void Complains(int rank) {
    ASSERT_OK(c.Exit(run, rank, {.exit_code = 1, .message = "Connection closed by peer"}));
  }
  // How many failures the run has paid for when all is over.
  int Paid() {
    c.Pass(absl::Seconds(2));
    c.AllReturned(run);
    c.Pass(absl::Seconds(2));
    return c.record(run).failures;
  }

  ClusterTester c;
  RunId run = 0;
};

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
  c.Disconnect("pc1", /*reset=*/true);
  c.Pass(absl::Milliseconds(300));
  protocol::Hello hello = HelloOf("pc1");
  hello.incarnation = 2;
  protocol::HeldAttempt held;
  held.ref = {run, 1};
  held.started = true;
  held.store_lost = absl::ZeroDuration();
  held.ranks = {{0, 100, {}, {absl::Seconds(9)}}};
  hello.attempts.push_back(held);
  ASSERT_OK(c.Hello(hello));
  EXPECT_EQ(Paid(), 1);
}

}  // namespace
}  // namespace hpc::coordinator::testing
