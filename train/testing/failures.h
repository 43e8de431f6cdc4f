// Checks what ranks were told about a failure.
#ifndef HPC_TRAIN_TESTING_FAILURES_H_
#define HPC_TRAIN_TESTING_FAILURES_H_

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "train/testing/rank_processes.h"

namespace hpc::train {

// Is the body of a rank: does `work`, and turns a CollectiveError into an error that the outcome
// shows, with the missing ranks before it: "missing 1 2|...".
Values TellFailure(const std::function<void()>& work);

// Expects that all ranks but `except` (-1: all) were told that `missing` (" 1 2") are missing, and
// `why`. They must have ended `within` this time and another 20 s, which a busy machine is granted.
void ExpectTold(const std::vector<RankOutcome>& outcomes, int except, const std::string& missing,
                const std::string& why, std::chrono::milliseconds within);

}  // namespace hpc::train

#endif  // HPC_TRAIN_TESTING_FAILURES_H_
