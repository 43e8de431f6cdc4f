// A step of training that is the same however many ranks share its batch.
#ifndef HPC_TRAIN_TESTING_RANDOM_STEP_H_
#define HPC_TRAIN_TESTING_RANDOM_STEP_H_

#include <ATen/Context.h>
#include <ATen/Functions.h>

#include "train/group/communicator.h"
#include "train/sharded/sharded_optimizer.h"

namespace hpc::train {

// Trains on `batch` samples of all ranks together. A sample has 6 numbers, and the 7 that the model
// should give. All are random, but the same for each `step`.
template <typename Model>
void StepOnRandomBatch(int64_t step, int64_t batch, const Communicator& group, Model& model,
                       ShardedOptimizer& optimizer) {
  at::manual_seed(1000 + step);
  const int64_t mine = batch / group.size(), begin = group.rank() * mine;
  const at::Tensor x = at::randn({batch, 6}).narrow(0, begin, mine);
  const at::Tensor y = at::randn({batch, 7}).narrow(0, begin, mine);
  optimizer.ZeroGrad();
  at::mse_loss(model(x), y).backward();
  optimizer.Step();
}

}  // namespace hpc::train

#endif  // HPC_TRAIN_TESTING_RANDOM_STEP_H_
