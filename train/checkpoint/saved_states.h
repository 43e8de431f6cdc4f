// The optimizer's states in a checkpoint, or kept in memory: written as the slices of the ranks
// that saved, read as the slices of those that load.
#ifndef HPC_TRAIN_CHECKPOINT_SAVED_STATES_H_
#define HPC_TRAIN_CHECKPOINT_SAVED_STATES_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "train/checkpoint/safetensors.h"
#include "train/sharded/sharded_optimizer.h"
#include "train/tensors/named_tensor.h"

namespace hpc::train {

// States under the names that they have in a checkpoint: "NAME:STATE:BEGIN".
std::vector<NamedTensor> NamedStates(const std::vector<ShardedOptimizer::StateSlice>& states);

class SavedStates {
 public:
  // Of all ranks that saved. Throws SafetensorsError: a file is none, or has a tensor of another
  // name.
  explicit SavedStates(const std::vector<std::string>& paths);
  explicit SavedStates(std::vector<SafetensorsFile> files);

  // For ShardedOptimizer::LoadStates. Throws SafetensorsError if a part of what is wanted is not
  // there, or is of another type.
  bool Read(ShardedOptimizer::StateSlice& wanted) const;

 private:
  struct Saved {
    size_t file;
    SafetensorsTensor tensor;
    int64_t count;
  };
  std::vector<SafetensorsFile> files_;
  // By parameter and state; then by where it begins.
  std::map<std::pair<std::string, std::string>, std::map<int64_t, Saved>> states_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_CHECKPOINT_SAVED_STATES_H_
