// The gradients that one rank keeps in ZeRO's stage 2: the mean of all ranks, for its own slices
// alone. The reducer (gradient_reducer.h) fills it, and the optimizer (sharded_optimizer.h) uses
// it.
#ifndef HPC_TRAIN_SHARDED_GRADIENT_SHARD_H_
#define HPC_TRAIN_SHARDED_GRADIENT_SHARD_H_

#include <deque>
#include <vector>

#include "train/group/communicator.h"
#include "train/sharded/shard_plan.h"
#include "train/tensors/named_tensor.h"

namespace hpc::train {

// Not thread-safe, but a backward pass's threads may use it, and then the caller of that pass.
class GradientShard {
 public:
  // `plan` divides `parameters`, all of which must be contiguous.
  GradientShard(std::vector<NamedTensor> parameters, std::vector<ShardBucket> plan, int rank);

  const std::vector<NamedTensor>& parameters() const { return parameters_; }
  const std::vector<ShardBucket>& plan() const { return plan_; }

  // Returns the gradient of one of this rank's slices, 1-dimensional. It is undefined if no rank
  // has had one since Clear. Gradients of several backward passes that reduce add up.
  at::Tensor gradient(size_t bucket, size_t slice) const;
  void Clear();

  // Returns how many elements a rank gets of a bucket: its part and, for each of its slices, how
  // many ranks used it. The number is the same for all ranks.
  int64_t Width(size_t bucket) const;

  // Begins to reduce the content of a bucket, Width x ranks elements. Only a few buckets may be
  // under way, so that no more take memory. If there are more, the oldest is waited for.
  void Launch(size_t bucket, at::Tensor flat, Communicator& group);
  // Waits for all buckets under way.
  void Finish();

 private:
  struct UnderWay {
    size_t bucket;
    at::Tensor flat, mine;
    PendingPtr pending;
  };
  void FinishOldest();

  const std::vector<NamedTensor> parameters_;
  const std::vector<ShardBucket> plan_;
  const int rank_;
  std::vector<at::Tensor> parts_;        // by bucket; undefined where there is none
  std::vector<std::vector<bool>> used_;  // [bucket][slice]
  std::deque<UnderWay> under_way_;
  std::vector<std::pair<size_t, at::Tensor>> counts_;  // by bucket: how many ranks used each slice
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_SHARDED_GRADIENT_SHARD_H_
