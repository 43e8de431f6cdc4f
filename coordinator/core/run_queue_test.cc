#include "coordinator/core/run_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace hpc::coordinator {
namespace {

using ::testing::ElementsAre;

TEST(RunQueueTest, ServesByPriorityThenAge) {
  std::vector<hpc::coordinator::Run> runs(4);
  const int32_t priorities[] = {0, 5, 0, 5};
  RunQueue queue;
  for (size_t i = 0; i < runs.size(); ++i) {
    runs[i].record.id = static_cast<RunId>(i) + 1;
    runs[i].record.request.priority = priorities[i];
  }
  for (size_t i : {2, 0, 3, 1}) queue.Insert(&runs[i]);
  EXPECT_THAT(queue.First(9), ElementsAre(&runs[1], &runs[3], &runs[0], &runs[2]));
  EXPECT_THAT(queue.First(2), ElementsAre(&runs[1], &runs[3]));
  EXPECT_EQ(queue.Position(runs[0]), 3);
  queue.Erase(&runs[1]);
  EXPECT_EQ(queue.Position(runs[0]), 2);
  EXPECT_EQ(queue.Position(runs[1]), 0);
  EXPECT_FALSE(queue.Contains(runs[1]));
  EXPECT_EQ(queue.front(), &runs[3]);
}

}  // namespace
}  // namespace hpc::coordinator
