#include "train/sharded/sharded_bucket.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "train/buckets/gradient_bucket.h"

namespace hpc::train {

ShardedBucket::ShardedBucket(std::shared_ptr<GradientShard> shard, size_t index)
    : shard_(std::move(shard)), index_(index) {
  const ShardBucket& bucket = shard_->plan()[index_];
  pieces_.resize(bucket.parameters.size());
  has_.resize(bucket.parameters.size());
  missing_ = bucket.parameters.size();
  int64_t begin = 0;  // where a rank's part begins
  for (const auto& slices : bucket.ranks) {
    int64_t used_at = begin + bucket.part;
    for (const ShardSlice& slice : slices) {
      const size_t place =
          std::find(bucket.parameters.begin(), bucket.parameters.end(), slice.parameter) -
          bucket.parameters.begin();
      pieces_[place].push_back({.begin = slice.begin,
                                .count = slice.count,
                                .at = begin + slice.at,
                                .used_at = used_at++});
    }
    begin += shard_->Width(index_);
  }
}

void ShardedBucket::Fill(size_t place, double scale) {
  at::NoGradGuard no_grad;
  const NamedTensor& parameter = shard_->parameters()[shard_->plan()[index_].parameters[place]];
  CheckReducible(parameter);
  const bool again = has_[place];
  Take(place);
  at::Tensor held = parameter.tensor;
  const at::Tensor gradient = held.grad().reshape(-1);
  const at::Tensor factor = at::scalar_tensor(scale, at::kDouble);
  for (const Piece& piece : pieces_[place]) {
    at::Tensor to = flat_.narrow(0, piece.at, piece.count);
    const at::Tensor from = gradient.narrow(0, piece.begin, piece.count);
    if (again) {
      to.add_(at::mul(from, factor));
    } else {
      at::mul_out(to, from, factor);
    }
    flat_.narrow(0, piece.used_at, 1).fill_(1);
  }
  held.mutable_grad().reset();
}

void ShardedBucket::LeaveOut(size_t place) {
  Take(place);
  at::Tensor parameter = shard_->parameters()[shard_->plan()[index_].parameters[place]].tensor;
  parameter.mutable_grad().reset();
}

void ShardedBucket::Take(size_t place) {
  if (!flat_.defined()) {
    const ShardBucket& bucket = shard_->plan()[index_];
    const at::Tensor& like = shard_->parameters()[bucket.parameters[0]].tensor;
    flat_ = at::zeros({shard_->Width(index_) * static_cast<int64_t>(bucket.ranks.size())},
                      like.options().requires_grad(false));
  }
  if (!has_[place]) --missing_;
  has_[place] = true;
}

void ShardedBucket::Launch(Communicator& group) {
  shard_->Launch(index_, std::move(flat_), group);
  flat_.reset();
}

void ShardedBucket::Finish() {
  shard_->Finish();
  has_.assign(has_.size(), false);
  missing_ = has_.size();
}

}  // namespace hpc::train
