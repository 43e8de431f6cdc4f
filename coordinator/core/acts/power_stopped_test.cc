// The worker of a node is stopped, and its PC stays on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"
#include "coordinator/core/testing/cluster_tester.h"

namespace hpc::coordinator::testing {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// pc1 and pc2; somebody has stopped the worker of pc2, and the PC is on.
class StoppedTest : public ::testing::Test {
 protected:
  StoppedTest() {
    c.Join({"pc1", "pc2"});
    c.TakeEvents();
    EXPECT_OK(c.Leaving("pc2", "its worker was stopped", /*stays_on=*/true));
    c.Disconnect("pc2", /*reset=*/true);
  }
  ClusterTester c;
};

TEST_F(StoppedTest, IsNeitherOffNorLost) {
  EXPECT_EQ(c.NodeState("pc2"), "stopped");
  EXPECT_EQ(c.View("pc2").reason,
            "its worker was stopped there (systemctl start hpc-worker starts it)");
  EXPECT_THAT(c.TakeEvents(), ElementsAre("node.stopped its worker was stopped"));
  c.Pass(absl::Minutes(1), {"pc2"});
  EXPECT_THAT(c.TakeEvents(), IsEmpty());
  EXPECT_EQ(c.NodeState("pc2"), "stopped");
}

TEST_F(StoppedTest, IsNotWoken) {
  const RunId run = c.Submit(Nodes(2));
  EXPECT_EQ(c.state(run), RunState::kQueued);
  EXPECT_EQ(c.Wait(run), "needs 2 nodes, 1 is free: pc2 has its worker stopped");
  EXPECT_THAT(c.TakeWakes(), IsEmpty());
  EXPECT_THAT(c.Wake("pc2"), StatusIs(kPrecondition,
                                      "pc2 cannot be woken: its worker was stopped there, and the "
                                      "PC may be on. Start it there (systemctl start hpc-worker)"));
}

TEST_F(StoppedTest, IsOnAgainOnceItsWorkerIs) {
  const RunId run = c.Submit(Nodes(2));
  c.TakeEvents();
  protocol::Hello hello = HelloOf("pc2");
  hello.incarnation = 2;
  ASSERT_OK(c.Hello(hello));
  EXPECT_THAT(c.TakeEvents("node."), ElementsAre(HasSubstr("node.connected connected from")));
  EXPECT_EQ(c.state(run), RunState::kStarting);
}

TEST_F(StoppedTest, IsStoppedStillAfterARestartOfTheCoordinator) {
  ClusterTester later({}, c.Durable());
  later.Pass(absl::Minutes(1));
  EXPECT_EQ(later.NodeState("pc2"), "stopped");
}

TEST(StoppedByItsPowerCommandTest, IsOff) {
  ClusterTester c;
  c.Join({"pc1"});
  ASSERT_OK(c.Sleep("pc1"));
  ASSERT_OK(c.Leaving("pc1", "its worker was stopped", /*stays_on=*/true))
      << "a PC without systemd cannot tell why";
  EXPECT_EQ(c.NodeState("pc1"), "off");
}

}  // namespace
}  // namespace hpc::coordinator::testing
