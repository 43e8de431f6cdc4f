// One rank's copy of a model that all ranks keep the same. It is the part of
// DistributedDataParallel that does not depend on the model's class.
#ifndef HPC_TRAIN_PARALLEL_REPLICA_H_
#define HPC_TRAIN_PARALLEL_REPLICA_H_

#include <memory>
#include <vector>

#include "train/group/communicator.h"
#include "train/parallel/gradient_reducer.h"
#include "train/tensors/named_tensor.h"

namespace hpc::train {

// All ranks must have the same options.
struct DataParallelOptions {
  ReducerOptions reducer;
  // Before each forward pass whose backward pass reduces, gives all ranks the buffers (running
  // means) of the first rank that had a batch in the last step. That is rank 0 where ranks have no
  // weights.
  bool broadcast_buffers = true;
  // The shard of a ShardedOptimizer (sharded_optimizer.h), which reduces gradients into shards, or
  // null.
  std::shared_ptr<GradientShard> shard;
};

// Must be used from one thread.
class Replica {
 public:
  // Checks that all ranks have the same options, and the same parameters and buffers by name, type
  // and shape. Then gives all of them rank 0's values. A tensor with several names counts once.
  // Throws std::invalid_argument, on all ranks, that names the first rank that differs and the
  // first difference.
  Replica(std::vector<NamedTensor> parameters, std::vector<NamedTensor> buffers,
          std::shared_ptr<Communicator> group, const DataParallelOptions& options);

  // These must be called around each forward pass. BeforeForward is a collective in training mode
  // while gradients are recorded and synchronized. It throws std::invalid_argument, before anything
  // is sent, if a parameter requires a gradient that required none when this object was made, since
  // that gradient would not be reduced.
  void BeforeForward(bool training);
  void AfterForward(const std::vector<at::Tensor>& outputs);

  // Does what BeforeForward and the backward pass do, for a rank without a batch.
  void SynchronizeGradients();

  // A collective. Makes buffers the same on all ranks now, as above. It is for the time before they
  // are saved, or all ranks evaluate.
  void SynchronizeBuffers();

  GradientReducer& reducer() { return *reducer_; }

 private:
  void CheckStillFrozen() const;

  const std::shared_ptr<Communicator> group_;
  const DataParallelOptions options_;
  std::vector<at::Tensor> buffers_;
  std::vector<NamedTensor> frozen_;  // parameters that required no gradient
  std::unique_ptr<GradientReducer> reducer_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_PARALLEL_REPLICA_H_
