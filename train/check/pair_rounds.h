// Which ranks measure the link between them, and when.
#ifndef HPC_TRAIN_CHECK_PAIR_ROUNDS_H_
#define HPC_TRAIN_CHECK_PAIR_ROUNDS_H_

#include <utility>
#include <vector>

namespace hpc::train {

// Every pair (a, b) of `ranks` ranks once, a < b, in as few rounds as can be. In a round no rank is
// in two pairs, so that pairs do not share a link unless PCs share one.
std::vector<std::vector<std::pair<int, int>>> PairRounds(int ranks);

}  // namespace hpc::train

#endif  // HPC_TRAIN_CHECK_PAIR_ROUNDS_H_
