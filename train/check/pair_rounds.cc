#include "train/check/pair_rounds.h"

#include <algorithm>

namespace hpc::train {

// As in a tournament: one sits still, the others go round a table. An odd one out rests.
std::vector<std::vector<std::pair<int, int>>> PairRounds(int ranks) {
  const int seats = ranks + ranks % 2;
  std::vector<std::vector<std::pair<int, int>>> rounds;
  for (int round = 0; round + 1 < seats; ++round) {
    auto at = [&](int seat) { return seat == 0 ? 0 : 1 + (seat - 1 + round) % (seats - 1); };
    std::vector<std::pair<int, int>>& pairs = rounds.emplace_back();
    for (int seat = 0; seat < seats / 2; ++seat) {
      const auto [a, b] = std::minmax({at(seat), at(seats - 1 - seat)});
      if (b < ranks) pairs.emplace_back(a, b);
    }
  }
  return rounds;
}

}  // namespace hpc::train
