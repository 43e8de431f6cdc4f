// Where ranks meet: the store that the launcher serves (or rank 0), spoken to as PyTorch does.
#ifndef HPC_TRAIN_RENDEZVOUS_H_
#define HPC_TRAIN_RENDEZVOUS_H_

#include <chrono>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "train/launch_environment.h"

namespace hpc::train {

// A connection to the store, with the keys of one group of one attempt. All methods throw
// std::runtime_error, which names the store; where ranks did not come, a CollectiveError that names
// them.
class Rendezvous {
 public:
  // Waits at most `deadline` for the store. `group` is one word; each group of a run has its own.
  Rendezvous(const LaunchEnvironment& environment, const std::string& group,
             std::chrono::milliseconds deadline);

  // Gives `mine`, and returns what all ranks gave, in their order. `what` is once in a group.
  std::vector<std::string> Exchange(const std::string& what, const std::string& mine);

  // For c10d's process groups. Its operations have the deadline.
  const c10::intrusive_ptr<c10d::Store>& store() const { return store_; }

 private:
  const LaunchEnvironment environment_;
  const std::chrono::milliseconds deadline_;
  std::string where_;
  c10::intrusive_ptr<c10d::Store> store_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_RENDEZVOUS_H_
