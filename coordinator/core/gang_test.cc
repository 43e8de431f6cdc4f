// A gang starts together or not at all, and ends with its first failure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"
#include "coordinator/core/testing/cluster_tester.h"

namespace hpc::coordinator::testing {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST(GangTest, PreparesAllThenStartsAllThenSucceedsWhenEveryRankHasExitedZero) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  c.TakeEvents();

  const RunId run = c.Submit(Nodes(2));
  EXPECT_EQ(run, 1);
  EXPECT_EQ(c.state(run), RunState::kStarting);
  EXPECT_THAT(c.TakeMessages(),
              ElementsAre("pc1: prepare 1.1 rank 0+1/2", "pc2: prepare 1.1 rank 1+1/2"));

  ASSERT_OK(c.Prepared(run, "pc2"));
  EXPECT_THAT(c.TakeMessages(), IsEmpty());
  ASSERT_OK(c.Prepared(run, "pc1"));
  EXPECT_THAT(c.TakeMessages(),
              ElementsAre("pc1: start 1.1 10.0.0.pc1:29500", "pc2: start 1.1 10.0.0.pc1:29500"));

  ASSERT_OK(c.Started(run, "pc1"));
  EXPECT_EQ(c.state(run), RunState::kStarting);
  ASSERT_OK(c.Started(run, "pc2"));
  EXPECT_EQ(c.state(run), RunState::kRunning);

  c.Pass(absl::Seconds(3));
  ASSERT_OK(c.Exit(run, 0, 0));
  ASSERT_OK(c.Returned(run, "pc1"));
  EXPECT_EQ(c.state(run), RunState::kRunning);
  ASSERT_OK(c.Exit(run, 1, 0));
  EXPECT_EQ(c.state(run), RunState::kRunning) << "pc2 has not returned its device yet";
  ASSERT_OK(c.Returned(run, "pc2"));
  EXPECT_EQ(c.state(run), RunState::kSucceeded);
  EXPECT_EQ(c.record(run).exit_code, 0);
  EXPECT_EQ(c.attempt(run).outcome, AttemptOutcome::kSucceeded);
  EXPECT_THAT(c.TakeMessages(), ElementsAre("pc1: forget 1.1", "pc2: forget 1.1"));
  EXPECT_THAT(c.TakeEvents(),
              ElementsAre("run.queued asks for 2 nodes",
                          "run.placed pc1 and pc2: the only nodes that are free",
                          "run.prepared pc1 and pc2 are prepared after 0 us; rendezvous at "
                          "10.0.0.pc1:29500 (the worker)",
                          "run.started 2 ranks on pc1 and pc2, 0 us after it was placed",
                          "rank.exited exited with code 0", "rank.exited exited with code 0",
                          "run.succeeded every rank exited 0 after 3 s"));
}

}  // namespace
}  // namespace hpc::coordinator::testing
