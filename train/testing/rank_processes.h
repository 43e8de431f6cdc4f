// Ranks as processes of their own, on loopback, so that they can be killed and stopped.
//
// They are forked from the test, which therefore must do nothing with LibTorch itself: its threads
// would not be there in the ranks.
#ifndef HPC_TRAIN_TESTING_RANK_PROCESSES_H_
#define HPC_TRAIN_TESTING_RANK_PROCESSES_H_

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "train/net/launch_environment.h"

namespace hpc::train {

using Values = std::vector<double>;

struct RankOutcome {
  bool finished = false;             // its body returned
  Values values;                     // what it returned
  std::string error;                 // what() of what it threw
  std::chrono::milliseconds took{};  // until its end
};

// Runs `body` as each of `ranks` ranks, on one thread each, with a store of their own, and returns
// how they ended, in their order. Those in `unending` are killed when all others have ended, and
// any rank after `limit`.
std::vector<RankOutcome> RunRanks(int ranks,
                                  const std::function<Values(const LaunchEnvironment&)>& body,
                                  const std::set<int>& unending = {},
                                  std::chrono::seconds limit = std::chrono::seconds(120));

// Of RunRanks: all must have finished. Else a failure of the test that says what they threw.
std::vector<Values> ValuesOf(const std::vector<RankOutcome>& outcomes);

}  // namespace hpc::train

#endif  // HPC_TRAIN_TESTING_RANK_PROCESSES_H_
