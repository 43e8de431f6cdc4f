// Gradients that travel in one reduce-scatter: each rank gets the sum of its own slices alone.
#ifndef HPC_TRAIN_SHARDED_SHARDED_BUCKET_H_
#define HPC_TRAIN_SHARDED_SHARDED_BUCKET_H_

#include <memory>
#include <vector>

#include "train/buckets/bucket.h"
#include "train/sharded/gradient_shard.h"

namespace hpc::train {

// One of the buckets of a GradientShard; a parameter's place is its place in that. A gradient that
// was taken is gone from .grad, so that its memory is free before the next one comes; the bucket's
// own is there from the first gradient until its sum has come.
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
  // A slice of some rank, of the parameter at a place.
  struct Piece {
    int64_t begin, count;  // of the parameter
    int64_t at;            // of the buffer
    int64_t used_at;       // of the buffer: whether it is used
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
