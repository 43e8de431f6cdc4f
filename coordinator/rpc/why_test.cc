#include "coordinator/rpc/why.h"

#include <gtest/gtest.h>

namespace hpc::coordinator {
namespace {

RunRow Row(RunState state, const std::string& reason) {
  RunRow row;
  row.record.id = 12;
  row.record.request.name = "digits";
  row.record.state = state;
  row.record.reason = reason;
  row.nodes = {"pc1", "pc2"};
  return row;
}

TEST(ExplainRun, AQueuedRunSaysItsPlaceAndWhatItWaitsFor) {
  RunRow row = Row(RunState::kQueued, "submitted");
  row.nodes.clear();
  EXPECT_EQ(ExplainRun(row, {"needs 4 nodes, 2 are free", 3}, ""),
            "queued, number 3 in the queue: needs 4 nodes, 2 are free");
}

TEST(ExplainRun, ARunThatWaitsForAnotherIsNotInTheQueue) {
  EXPECT_EQ(ExplainRun(Row(RunState::kQueued, ""), {"waits for run 11", 0}, ""),
            "not in the queue yet: waits for run 11");
}

TEST(ExplainRun, ARunningOneNamesWhoHasNotArrived) {
  EXPECT_EQ(
      ExplainRun(Row(RunState::kRunning, "all ranks run"), {}, "rank 3 on pc2 has not arrived"),
      "running on pc1 and pc2: rank 3 on pc2 has not arrived");
  EXPECT_EQ(ExplainRun(Row(RunState::kRunning, "all ranks run"), {}, ""),
            "running on pc1 and pc2: all ranks run");
}

TEST(ExplainRun, AnEndedOneSaysHowAndWhy) {
  RunRow row = Row(RunState::kFailed, "rank 1 on pc2 exited with 7");
  row.record.exit_code = 7;
  EXPECT_EQ(ExplainRun(row, {}, ""), "failed with exit code 7: rank 1 on pc2 exited with 7");
}

TEST(ExplainNode, SaysItsStateReasonAndWhatRunsThere) {
  Cluster::NodeView node;
  node.record.name = "pc2";
  node.state = "reclaimed";
  node.reason = "its owner plays";
  EXPECT_EQ(ExplainNode(node), "reclaimed: its owner plays");
  node.attempts = {{12, 2}};
  EXPECT_EQ(ExplainNode(node), "reclaimed: its owner plays; its devices are used by 12.2");
}

}  // namespace
}  // namespace hpc::coordinator
