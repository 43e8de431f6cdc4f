// Ranks as processes of their own, on loopback, so that they can be killed and stopped.
//
// They are forked from the test. So the test itself must do nothing with LibTorch, because its
// threads would not exist in the ranks.
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
  std::chrono::milliseconds took{};  // from the beginning to its end
};

// Runs `body` as each of `ranks` ranks, on one thread each, with a store of their own, and returns
// how they ended, in their order. Ranks in `unending` are killed when all others have ended, and
// any rank is killed after `limit`.
std::vector<RankOutcome> RunRanks(int ranks,
                                  const std::function<Values(const LaunchEnvironment&)>& body,
                                  const std::set<int>& unending = {},
                                  std::chrono::seconds limit = std::chrono::seconds(120));

// Returns the values of what RunRanks returned. All ranks must have finished; if not, the test
// fails and says what they threw.
std::vector<Values> ValuesOf(const std::vector<RankOutcome>& outcomes);

}  // namespace hpc::train

#endif  // HPC_TRAIN_TESTING_RANK_PROCESSES_H_
