#include "train/check/pair_rounds.h"

#include <algorithm>

namespace hpc::train {

// Arranges the ranks as in a tournament: one sits still, the others move round a table. With an odd
// number one rests in each round.
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
