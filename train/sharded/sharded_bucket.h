// A bucket of gradients that travel in one reduce-scatter: each rank gets the sums for its own
// slices alone.
#ifndef HPC_TRAIN_SHARDED_SHARDED_BUCKET_H_
#define HPC_TRAIN_SHARDED_SHARDED_BUCKET_H_

#include <memory>
#include <vector>

#include "train/buckets/bucket.h"
#include "train/sharded/gradient_shard.h"

namespace hpc::train {

// One of the buckets of a GradientShard. A parameter's place here is its place there. A gradient
// that was taken is removed from .grad, so that its memory is free before the next one comes. The
// bucket's own buffer exists from the first gradient until the sum has come.
class ShardedBucket : public Bucket {
 public:
  ShardedBucket(std::shared_ptr<GradientShard> shard, size_t index);

  void Fill(size_t place, double scale) override;
  void LeaveOut(size_t place) override;
  bool Has(size_t place) const override { return has_[place]; }
  bool Full() const override { return missing_ == 0; }
  void Launch(Communicator& group) override;
  void Finish() override;

 private:
  // A slice, of any rank, of the parameter at a place.
  struct Piece {
    int64_t begin, count;  // in the parameter
    int64_t at;            // in the buffer
    int64_t used_at;       // where the buffer says whether it is used
  };
  void Take(size_t place);

  const std::shared_ptr<GradientShard> shard_;
  const size_t index_;
  std::vector<std::vector<Piece>> pieces_;  // by place
  at::Tensor flat_;
  std::vector<bool> has_;
  size_t missing_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_SHARDED_SHARDED_BUCKET_H_
