// What ranks were told of a failure.
#ifndef HPC_TRAIN_TESTING_FAILURES_H_
#define HPC_TRAIN_TESTING_FAILURES_H_

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "train/testing/rank_processes.h"

namespace hpc::train {

// The body of a rank: does `work`, and throws what a CollectiveError of it says so that the outcome
// has it, with who is missing before it: "missing 1 2|...".
Values TellFailure(const std::function<void()>& work);

// All ranks but `except` (-1: all) were told that `missing` (" 1 2") are, and `why`, and have ended
// `within` so long and 5 s that a busy machine is granted.
void ExpectTold(const std::vector<RankOutcome>& outcomes, int except, const std::string& missing,
                const std::string& why, std::chrono::milliseconds within);

}  // namespace hpc::train

#endif  // HPC_TRAIN_TESTING_FAILURES_H_
