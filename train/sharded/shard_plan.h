// Decides which rank keeps which elements of which parameters. Pure.
//
// Parameters are put one after the other into buckets. Each bucket is cut into as many equal parts
// as there are ranks, wherever the cuts fall. So no parameter is too large, and no rank has more
// than another, except for at most ranks - 1 elements of padding at the end of a bucket. The cuts
// do not depend on what is trained, so ranks need not agree on them.
#ifndef HPC_TRAIN_SHARDED_SHARD_PLAN_H_
#define HPC_TRAIN_SHARDED_SHARD_PLAN_H_

#include <cstdint>
#include <vector>

#include "train/buckets/bucket_plan.h"

namespace hpc::train {

// The elements [begin, begin + count) of a parameter, row-major, that one rank keeps.
struct ShardSlice {
  size_t parameter = 0;
  int64_t begin = 0, count = 0;
  int64_t at = 0;  // where it begins in the rank's part of the bucket
};

struct ShardBucket {
  std::vector<size_t> parameters;              // one after the other
  std::vector<int64_t> offsets;                // where each begins, and then where the last ends
  int64_t part = 0;                            // elements of each rank; the last may have none
  std::vector<std::vector<ShardSlice>> ranks;  // by rank, in the order of the rank's part
};

// Returns buckets in the order in which gradients mostly come, the last parameter's first.
// `elements` are the numbers of elements of items. Neither list may be empty. Parameters without
// elements are in buckets, but in no slice.
std::vector<ShardBucket> PlanShards(const std::vector<BucketItem>& items,
                                    const std::vector<int64_t>& elements, int ranks,
                                    size_t first_bytes, size_t bytes);

}  // namespace hpc::train

#endif  // HPC_TRAIN_SHARDED_SHARD_PLAN_H_
