#include "coordinator/core/state/run_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace hpc::coordinator {
namespace {

using ::testing::ElementsAre;
using QueuedRun = ::hpc::coordinator::Run;  // a test has another Run

TEST(RunQueueTest, ServesByPriorityThenAge) {
  std::vector<QueuedRun> runs(4);
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

TEST(RunQueueTest, PositionsAreRightInWhateverOrderTheyAreAskedFor) {
  uint64_t drawn = 20261125;
  const auto random = [&drawn] { return drawn = drawn * 48271 % 2147483647; };
  std::vector<std::unique_ptr<QueuedRun>> runs;
  RunQueue queue;
  const auto check = [&](const QueuedRun& run) {
    int32_t before = 0;
    for (const auto& other : runs) {
      if (other->in_queue && RunQueue::Before(*other, run)) ++before;
    }
    ASSERT_EQ(queue.Position(run), run.in_queue ? before + 1 : 0) << "run " << run.record.id;
  };
  for (int turn = 0; turn < 300; ++turn) {
    QueuedRun* run = runs.emplace_back(std::make_unique<QueuedRun>()).get();
    run->record.id = turn + 1;
    run->record.request.priority = static_cast<int32_t>(random() % 3);
    queue.Insert(run);
    QueuedRun* other = runs[random() % runs.size()].get();
    if (other->in_queue && random() % 3 == 0) queue.Erase(other);
    if (random() % 2 == 0) check(*runs[random() % runs.size()]);
    if (turn % 20 != 0) continue;
    for (size_t i = runs.size(); i > 0; --i) check(*runs[i - 1]);
    for (const QueuedRun* first : queue.First(runs.size())) check(*first);
    const std::vector<QueuedRun*> all = queue.First(runs.size());
    for (size_t i = all.size(); i > 0; --i) check(*all[i - 1]);
  }
}

}  // namespace
}  // namespace hpc::coordinator
