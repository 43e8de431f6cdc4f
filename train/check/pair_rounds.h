// Decides which ranks measure the link between them, and when.
#ifndef HPC_TRAIN_CHECK_PAIR_ROUNDS_H_
#define HPC_TRAIN_CHECK_PAIR_ROUNDS_H_

#include <utility>
#include <vector>

namespace hpc::train {

// Returns every pair (a, b) of `ranks` ranks once, a < b, in as few rounds as possible. In a round
// no rank is in two pairs. So pairs only share a link where PCs share one.
std::vector<std::vector<std::pair<int, int>>> PairRounds(int ranks);

}  // namespace hpc::train

#endif  // HPC_TRAIN_CHECK_PAIR_ROUNDS_H_
