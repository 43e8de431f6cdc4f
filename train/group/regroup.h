// Lets the ranks that are left of a group agree on who they are, so that they can go on in place.
//
// Survivors find out at different times that ranks are gone, and each may know of other ones: a
// rank that dies in the meantime is in the verdict of only some of them. So each announces itself
// at the rendezvous store. The first that sees all whom it expects writes down who they are, and
// that holds for all.
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
  // How long all expected ranks have to announce themselves; a rank that has not by then is left
  // out. It must be longer than the longest time that a rank may be busy alone before it sees that
  // its group is dead.
  std::chrono::milliseconds deadline = std::chrono::minutes(10);
  int min_ranks = 1;  // fewer ranks do not go on
  // Is asked while it waits. It returns the ranks that have gone since (Communicator::Gone), which
  // are not waited for.
  std::function<std::vector<int>()> gone = [] { return std::vector<int>(); };
  // Is asked while it waits. When it returns true, this rank is left out.
  std::function<bool()> give_up = [] { return false; };
};

// Returns, on each rank that is left of `environment`'s group, the group of those that are left.
// Ranks `missing` (CollectiveError::missing()) are gone. `round` must be the same on all of them
// and a new number each time: 1 for the first group; 2 for the group after that, or for another try
// if making the first failed.
//
// Ends at once when all ranks came whom one of them expects, and otherwise `deadline` after the
// last of them came. Throws NoRegroupError: nobody is known to be missing; this rank is missing, or
// came too late; rank 0 is missing and served the store; or fewer than min_ranks are left. Throws
// std::runtime_error if the store fails.
LaunchEnvironment AgreeOnThoseLeft(const LaunchEnvironment& environment,
                                   const std::vector<int>& missing, int round,
                                   const RegroupOptions& options);

}  // namespace hpc::train

#endif  // HPC_TRAIN_GROUP_REGROUP_H_
