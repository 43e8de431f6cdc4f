#include "client/cli/show/overview.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace hpc::client {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

v1::Node MakeNode(const std::string& name, const std::string& state, const std::string& attempt,
                  const std::string& reason) {
  v1::Node node;
  node.set_name(name);
  node.set_state(state);
  node.set_reason(reason);
  node.mutable_inventory()->add_devices();
  if (attempt.empty()) {
    node.add_free_devices(0);
  } else {
    node.add_attempts(attempt);
  }
  return node;
}

v1::Run MakeRun(int64_t id, v1::RunState state, int position, const std::string& reason) {
  v1::Run run;
  run.set_id(id);
  run.set_state(state);
  run.set_name("train");
  run.set_user("anna");
  run.add_nodes("pc1");
  run.set_queue_position(position);
  run.set_reason(reason);
  return run;
}

TEST(OverviewTest, SaysWhatEachPcDoesAndWhatEachRunWaitsFor) {
  EXPECT_EQ(Overview({MakeNode("pc1", "busy", "12.1", ""),
                      MakeNode("pc2", "reclaimed", "", "its owner has it: a game")},
                     {MakeRun(14, v1::RUN_STATE_QUEUED, 2, "2nd in the queue"),
                      MakeRun(15, v1::RUN_STATE_QUEUED, 1, "needs 2 nodes, 1 is free"),
                      MakeRun(13, v1::RUN_STATE_QUEUED, 0, "held by anna"),
                      MakeRun(12, v1::RUN_STATE_RUNNING, 0, "runs")},
                     {}),
            "\n"
            "NODE  STATE      FREE  RUNS  REASON\n"
            "pc1   busy       0/1   12.1  -\n"
            "pc2   reclaimed  1/1   -     its owner has it: a game\n"
            "\n"
            "RUN  STATE    NAME   USER  NODES  TOOK  REASON\n"
            "12   running  train  anna  pc1    -     runs\n"
            "15   queued   train  anna  -      -     needs 2 nodes, 1 is free\n"
            "14   queued   train  anna  -      -     2nd in the queue\n"
            "13   queued   train  anna  -      -     held by anna\n");
}

TEST(OverviewTest, AnEmptyClusterHasNoTables) { EXPECT_EQ(Overview({}, {}, {}), ""); }

TEST(OverviewTest, OfManyRunsItSaysHowManyAreNotShown) {
  std::vector<v1::Run> runs;
  for (int i = 1; i <= 20; ++i) runs.push_back(MakeRun(i, v1::RUN_STATE_QUEUED, i, ""));
  const std::string text = Overview({}, runs, {});
  EXPECT_THAT(text, HasSubstr("\n15   queued"));
  EXPECT_THAT(text, Not(HasSubstr("\n16   queued")));
  EXPECT_THAT(text, EndsWith("and 5 more: hpcctl runs --state queued,starting,running,stopping\n"));
}

}  // namespace
}  // namespace hpc::client
