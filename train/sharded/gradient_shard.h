// What one rank keeps of the gradients in ZeRO's stage 2: the mean of all ranks, of its own slices
// alone. The reducer (gradient_reducer.h) fills it, the optimizer (sharded_optimizer.h) uses it.
#ifndef HPC_TRAIN_SHARDED_GRADIENT_SHARD_H_
#define HPC_TRAIN_SHARDED_GRADIENT_SHARD_H_

#include <deque>
#include <vector>

#include "train/group/communicator.h"
#include "train/sharded/shard_plan.h"
#include "train/tensors/named_tensor.h"

namespace hpc::train {

// Not thread-safe, but may be used by a backward pass's threads and then by its caller.
class GradientShard {
 public:
  // `plan` is of `parameters`, all of which are contiguous.
  GradientShard(std::vector<NamedTensor> parameters, std::vector<ShardBucket> plan, int rank);

  const std::vector<NamedTensor>& parameters() const { return parameters_; }
  const std::vector<ShardBucket>& plan() const { return plan_; }

  // The gradient of one of this rank's slices, 1-dimensional; undefined if no rank has had one
  // since Clear. Gradients of several backward passes that reduce add up.
  at::Tensor gradient(size_t bucket, size_t slice) const;
  void Clear();

  // Elements that a rank gets of a bucket: its part, and for each of its slices by how many ranks
  // it was used; the same for all ranks.
  int64_t Width(size_t bucket) const;

  // Begins to reduce what a bucket has, Width x ranks elements. A few buckets may be under way; the
  // oldest is waited for then, so that no more than those take memory.
  void Launch(size_t bucket, at::Tensor flat, Communicator& group);
  // Waits for all.
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
  std::vector<at::Tensor> parts_;        // by bucket; undefined where there is nothing
  std::vector<std::vector<bool>> used_;  // [bucket][slice]
  std::deque<UnderWay> under_way_;
  std::vector<std::pair<size_t, at::Tensor>> counts_;  // by bucket: of ranks that used its slices
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_SHARDED_GRADIENT_SHARD_H_
