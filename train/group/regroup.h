// How those that are left of a group agree on who they are, so that they can go on in place.
//
// Survivors find out at different times that ranks are gone, and each may miss others: who dies in
// the meantime is in the verdict of some of them only. So each announces itself at the rendezvous
// store, and the first that sees all whom it expects writes down who they are, which holds for all.
//
//     catch (const hpc::train::CollectiveError& error) {
//       const auto left = hpc::train::AgreeOnThoseLeft(environment, error.missing(), 1, {});
//       auto next = hpc::train::MakeGlooCommunicator(left, {.group = "main.1"});
//       ...            // everything that uses the group, made anew
//       group = next;  // not before: rank 0 may serve the store
//     }
#ifndef HPC_TRAIN_GROUP_REGROUP_H_
#define HPC_TRAIN_GROUP_REGROUP_H_

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "train/net/launch_environment.h"

namespace hpc::train {

// These ranks do not go on in place. what() says why, without naming this rank.
class NoRegroupError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct RegroupOptions {
  // For all that are expected to announce themselves; who has not by then is left out. Longer than
  // the longest time that a rank may be busy alone before it sees that its group is dead.
  std::chrono::milliseconds deadline = std::chrono::minutes(10);
  int min_ranks = 1;  // fewer do not go on
  // Asked while it waits: who has gone since (Communicator::Gone), whom it does not wait for.
  std::function<std::vector<int>()> gone = [] { return std::vector<int>(); };
  // Asked while it waits; when it is true, this rank is left out.
  std::function<bool()> give_up = [] { return false; };
};

// The group of those that are left of `environment`'s, on each of them, after ranks `missing`
// (CollectiveError::missing()) went. `time` is the same on all of them and another each time: 1 for
// the first group, 2 for the one after it, or in its place if making it failed.
//
// Ends `deadline` after the last of them came, and at once when all came whom somebody expects.
// Throws NoRegroupError: nobody is known to be missing; this rank is, or came too late; rank 0 is
// missing and served the store; or fewer than min_ranks are left; std::runtime_error if the store
// fails.
LaunchEnvironment AgreeOnThoseLeft(const LaunchEnvironment& environment,
                                   const std::vector<int>& missing, int time,
                                   const RegroupOptions& options);

}  // namespace hpc::train

#endif  // HPC_TRAIN_GROUP_REGROUP_H_
