#include "train/sharded/shard_plan.h"

#include <algorithm>

namespace hpc::train {
namespace {

std::vector<ShardSlice> SlicesOf(const ShardBucket& bucket, int rank) {
  const int64_t begin = rank * bucket.part, end = begin + bucket.part;
  std::vector<ShardSlice> slices;
  for (size_t i = 0; i < bucket.parameters.size(); ++i) {
    const int64_t from = std::max(begin, bucket.offsets[i]);
    const int64_t to = std::min(end, bucket.offsets[i + 1]);
    if (from >= to) continue;
    slices.push_back({.parameter = bucket.parameters[i],
                      .begin = from - bucket.offsets[i],
                      .count = to - from,
                      .at = from - begin});
  }
  return slices;
}

}  // namespace

std::vector<ShardBucket> PlanShards(const std::vector<BucketItem>& items,
                                    const std::vector<int64_t>& elements, int ranks,
                                    size_t first_bytes, size_t bytes) {
  std::vector<size_t> order;
  for (size_t i = items.size(); i-- > 0;) order.push_back(i);
  std::vector<ShardBucket> plan;
  for (std::vector<size_t>& parameters : PlanBuckets(items, order, first_bytes, bytes)) {
    ShardBucket bucket = {.parameters = std::move(parameters), .offsets = {0}};
    for (size_t index : bucket.parameters) {
      bucket.offsets.push_back(bucket.offsets.back() + elements[index]);
    }
    bucket.part = (bucket.offsets.back() + ranks - 1) / ranks;
    for (int rank = 0; rank < ranks; ++rank) bucket.ranks.push_back(SlicesOf(bucket, rank));
    plan.push_back(std::move(bucket));
  }
  return plan;
}

}  // namespace hpc::train
