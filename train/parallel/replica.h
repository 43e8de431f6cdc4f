// One rank's copy of a model that all ranks keep the same: what DistributedDataParallel does that
// does not depend on the model's class.
#ifndef HPC_TRAIN_PARALLEL_REPLICA_H_
#define HPC_TRAIN_PARALLEL_REPLICA_H_

#include <memory>
#include <vector>

#include "train/group/communicator.h"
#include "train/parallel/gradient_reducer.h"
#include "train/tensors/named_tensor.h"

namespace hpc::train {

// The same on all ranks.
struct DataParallelOptions {
  ReducerOptions reducer;
  // Before each forward pass whose backward pass reduces, buffers (running means) become those of
  // the first rank that had a batch in the last step, which is rank 0 where ranks have no weights.
  bool broadcast_buffers = true;
  // Of a ShardedOptimizer (sharded_optimizer.h), which reduces gradients into shards, or nothing.
  std::shared_ptr<GradientShard> shard;
};

// Used from one thread.
class Replica {
 public:
  // Checks that all ranks have the same parameters and buffers by name, type and shape, and the
  // same options, and gives all of them rank 0's values. Names that share a tensor count once.
  // Throws std::invalid_argument, on all ranks, that names the first rank and the first thing that
  // differ.
  Replica(std::vector<NamedTensor> parameters, std::vector<NamedTensor> buffers,
          std::shared_ptr<Communicator> group, const DataParallelOptions& options);

  // Around each forward pass. The first is a collective in training mode while gradients are
  // recorded and synchronized. It throws std::invalid_argument, before anything is sent, where a
  // parameter requires a gradient that required none when this was made: it would not be reduced.
  void BeforeForward(bool training);
  void AfterForward(const std::vector<at::Tensor>& outputs);

  // What BeforeForward and the backward pass do, for a rank without a batch.
  void SynchronizeGradients();

  // A collective: makes buffers the same on all ranks now, as above: before they are saved, or all
  // ranks evaluate.
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
