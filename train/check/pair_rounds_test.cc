#include "train/check/pair_rounds.h"

#include <gtest/gtest.h>

#include <set>

namespace hpc::train {
namespace {

TEST(PairRoundsTest, EveryPairMeetsOnceAndNobodyIsInTwoAtATime) {
  for (int ranks = 1; ranks <= 17; ++ranks) {
    std::set<std::pair<int, int>> met;
    const auto rounds = PairRounds(ranks);
    EXPECT_LE(static_cast<int>(rounds.size()), ranks) << ranks;
    for (const auto& pairs : rounds) {
      std::set<int> busy;
      for (const auto& [a, b] : pairs) {
        EXPECT_LT(a, b);
        EXPECT_LT(b, ranks);
        EXPECT_TRUE(busy.insert(a).second && busy.insert(b).second) << ranks;
        EXPECT_TRUE(met.emplace(a, b).second) << ranks;
      }
    }
    EXPECT_EQ(static_cast<int>(met.size()), ranks * (ranks - 1) / 2);
  }
}

}  // namespace
}  // namespace hpc::train
