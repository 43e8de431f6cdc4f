// Decides which gradients travel together. Pure.
#ifndef HPC_TRAIN_BUCKETS_BUCKET_PLAN_H_
#define HPC_TRAIN_BUCKETS_BUCKET_PLAN_H_

#include <cstddef>
#include <vector>

namespace hpc::train {

struct BucketItem {
  size_t bytes = 0;
  int kind = 0;  // its type and device; only items of one kind travel together
};

// Returns buckets of indices of `items`. `order` holds all indices, in the order in which gradients
// become ready. A bucket is full when its next item would make it larger than `bytes`, but it has
// at least one item. The first bucket of all is smaller, so that communication begins early.
// Buckets are in the order in which their last items come.
std::vector<std::vector<size_t>> PlanBuckets(const std::vector<BucketItem>& items,
                                             const std::vector<size_t>& order, size_t first_bytes,
                                             size_t bytes);

}  // namespace hpc::train

#endif  // HPC_TRAIN_BUCKETS_BUCKET_PLAN_H_
