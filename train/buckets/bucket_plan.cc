#include "train/buckets/bucket_plan.h"

#include <algorithm>
#include <map>

namespace hpc::train {
namespace {

struct PlannedBucket {
  std::vector<size_t> indices;
  size_t bytes = 0;
  size_t last = 0;  // the place of its last item in the order
};

}  // namespace

std::vector<std::vector<size_t>> PlanBuckets(const std::vector<BucketItem>& items,
                                             const std::vector<size_t>& order, size_t first_bytes,
                                             size_t bytes) {
  std::vector<PlannedBucket> buckets;
  std::map<int, size_t> open;  // by kind, the index of the bucket that is not full
  for (size_t place = 0; place < order.size(); ++place) {
    const BucketItem& item = items[order[place]];
    auto found = open.find(item.kind);
    const size_t limit = found != open.end() && found->second == 0 ? first_bytes : bytes;
    if (found == open.end() || buckets[found->second].bytes + item.bytes > limit) {
      found = open.insert_or_assign(item.kind, buckets.size()).first;
      buckets.emplace_back();
    }
    PlannedBucket& bucket = buckets[found->second];
    bucket.indices.push_back(order[place]);
    bucket.bytes += item.bytes;
    bucket.last = place;
  }
  std::stable_sort(buckets.begin(), buckets.end(),
                   [](const PlannedBucket& a, const PlannedBucket& b) { return a.last < b.last; });
  std::vector<std::vector<size_t>> plan;
  for (PlannedBucket& bucket : buckets) plan.push_back(std::move(bucket.indices));
  return plan;
}

}  // namespace hpc::train
