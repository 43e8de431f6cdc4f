#include "train/sharded/shard_plan.h"

#include <iostream>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace hpc::train {
namespace {

using ::testing::ElementsAre;

TEST(ShardPlan, ABucketIsCutIntoEqualPartsWhereverTheCutsFall) {
  const auto plan = PlanShards({{.bytes = 12}, {.bytes = 28}}, {3, 7}, 3, 1000, 1000);
  ASSERT_EQ(plan.size(), 1u);
  EXPECT_THAT(plan[0].parameters, ElementsAre(1, 0));
  EXPECT_THAT(plan[0].offsets, ElementsAre(0, 7, 10));
  EXPECT_EQ(plan[0].part, 4);
  ASSERT_EQ(plan[0].ranks[1].size(), 2u);
  EXPECT_EQ(plan[0].ranks[1][0].begin, 4);
  EXPECT_EQ(plan[0].ranks[1][0].count, 3);
  EXPECT_EQ(plan[0].ranks[1][1].parameter, 0u);
  EXPECT_EQ(plan[0].ranks[1][1].at, 3);
  EXPECT_EQ(plan[0].ranks[2].size(), 1u);
}

TEST(ShardPlan, EveryElementIsKeptByOneRankAndNoneKeepsMore) {
  const unsigned seed = std::random_device()();
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    const int ranks = 1 + static_cast<int>(random() % 6);
    std::vector<BucketItem> items;
    std::vector<int64_t> elements;
    for (int i = 1 + static_cast<int>(random() % 8); i > 0; --i) {
      elements.push_back(random() % 40);
      items.push_back({.bytes = static_cast<size_t>(elements.back()) * 4,
                       .kind = static_cast<int>(random() % 2)});
    }
    std::vector<std::vector<int>> kept(items.size());
    for (size_t i = 0; i < items.size(); ++i) kept[i].resize(elements[i]);
    for (const ShardBucket& bucket : PlanShards(items, elements, ranks, random() % 100, 200)) {
      EXPECT_LT(bucket.part * ranks - bucket.offsets.back(), ranks);
      for (const auto& slices : bucket.ranks) {
        int64_t end = 0;
        for (const ShardSlice& slice : slices) {
          EXPECT_EQ(slice.at, end);
          end += slice.count;
          for (int64_t e = 0; e < slice.count; ++e) ++kept[slice.parameter][slice.begin + e];
        }
        EXPECT_LE(end, bucket.part);
      }
    }
    for (const auto& one : kept) EXPECT_THAT(one, ::testing::Each(1));
  }
}

}  // namespace
}  // namespace hpc::train
