// The optimizer that the options ask for.
#ifndef HPC_TRAIN_PROGRAM_OPTIMIZER_H_
#define HPC_TRAIN_PROGRAM_OPTIMIZER_H_

#include <memory>
#include <vector>

#include "train/group/communicator.h"
#include "train/program/options/train_options.h"
#include "train/sharded/sharded_optimizer.h"
#include "train/tensors/named_tensor.h"

namespace hpc::train {

// Makes it as --optimizer, --momentum, --weight-decay and --zero say. Without --zero, and where
// ranks take steps alone, each rank has all of its states.
std::unique_ptr<ShardedOptimizer> MakeOptimizer(const TrainOptions& options,
                                                std::vector<NamedTensor> parameters,
                                                std::shared_ptr<Communicator> group);

}  // namespace hpc::train

#endif  // HPC_TRAIN_PROGRAM_OPTIMIZER_H_
