// The optimizer's states in a checkpoint, or kept in memory. They are written in the slices of the
// ranks that saved, and read in the slices of those that load.
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

// Gives states the names that they have in a checkpoint: "NAME:STATE:BEGIN".
std::vector<NamedTensor> NamedStates(const std::vector<ShardedOptimizer::StateSlice>& states);

class SavedStates {
 public:
  // Takes the files of all ranks that saved. Throws SafetensorsError: one is not such a file, or
  // has a tensor of another name.
  explicit SavedStates(const std::vector<std::string>& paths);
  explicit SavedStates(std::vector<SafetensorsFile> files);

  // Serves ShardedOptimizer::LoadStates. Throws SafetensorsError if a part of what is wanted is
  // missing or of another type.
  bool Read(ShardedOptimizer::StateSlice& wanted) const;

 private:
  struct Saved {
    size_t file;
    SafetensorsTensor tensor;
    int64_t count;
  };
  std::vector<SafetensorsFile> files_;
  // Sorted by parameter and state, then by where the slice begins.
  std::map<std::pair<std::string, std::string>, std::map<int64_t, Saved>> states_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_CHECKPOINT_SAVED_STATES_H_
