#include "train/sharded/gradient_shard.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace hpc::train {
namespace {

// This is enough to keep the network busy while the oldest is waited for.
constexpr size_t kUnderWay = 4;

}  // namespace

GradientShard::GradientShard(std::vector<NamedTensor> parameters, std::vector<ShardBucket> plan,
                             int rank)
    : parameters_(std::move(parameters)), plan_(std::move(plan)), rank_(rank) {
  parts_.resize(plan_.size());
  for (const ShardBucket& bucket : plan_) used_.emplace_back(bucket.ranks[rank_].size());
}

at::Tensor GradientShard::gradient(size_t bucket, size_t slice) const {
  if (!used_[bucket][slice]) return at::Tensor();
  const ShardSlice& one = plan_[bucket].ranks[rank_][slice];
  return parts_[bucket].narrow(0, one.at, one.count);
}

void GradientShard::Clear() {
  for (at::Tensor& part : parts_) part.reset();
  for (std::vector<bool>& used : used_) used.assign(used.size(), false);
}

int64_t GradientShard::Width(size_t bucket) const {
  size_t most = 0;
  for (const auto& slices : plan_[bucket].ranks) most = std::max(most, slices.size());
  return plan_[bucket].part + static_cast<int64_t>(most);
}

void GradientShard::Launch(size_t bucket, at::Tensor flat, Communicator& group) {
  if (under_way_.size() == kUnderWay) FinishOldest();
  UnderWay one = {.bucket = bucket, .flat = std::move(flat)};
  one.mine = at::empty({Width(bucket)}, one.flat.options());
  one.pending = group.ReduceScatter(one.mine, one.flat, ReduceOp::kSum,
                                    {absl::StrCat("gradients ", bucket), {}});
  under_way_.push_back(std::move(one));
}

// Numbers are only looked at here, because that waits for a GPU.
void GradientShard::Finish() {
  while (!under_way_.empty()) FinishOldest();
  for (auto& [bucket, there] : counts_) {
    const at::Tensor counts = there.to(at::kCPU, at::kFloat);
    for (size_t i = 0; i < used_[bucket].size(); ++i) {
      if (counts.const_data_ptr<float>()[i] > 0) used_[bucket][i] = true;
    }
  }
  counts_.clear();
}

void GradientShard::FinishOldest() {
  UnderWay one = std::move(under_way_.front());
  under_way_.pop_front();
  one.pending->Wait();
  at::NoGradGuard no_grad;
  const int64_t part = plan_[one.bucket].part;
  counts_.emplace_back(one.bucket, one.mine.narrow(0, part, one.mine.numel() - part).clone());
  at::Tensor& kept = parts_[one.bucket];
  if (kept.defined()) {
    kept.add_(one.mine.narrow(0, 0, part));
  } else {
    kept = one.mine.narrow(0, 0, part);
  }
}

}  // namespace hpc::train
