#include "train/buckets/gradient_bucket.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <map>
#include <stdexcept>

#include "absl/strings/str_cat.h"

namespace hpc::train {

std::vector<BucketItem> BucketItemsOf(const std::vector<NamedTensor>& parameters) {
  std::map<std::pair<at::ScalarType, std::string>, int> kinds;
  std::vector<BucketItem> items;
  for (const NamedTensor& one : parameters) {
    const auto kind = std::make_pair(one.tensor.scalar_type(), one.tensor.device().str());
    items.push_back({.bytes = one.tensor.nbytes(),
                     .kind = kinds.emplace(kind, static_cast<int>(kinds.size())).first->second});
  }
  return items;
}

void CheckReducible(const NamedTensor& parameter) {
  const at::Tensor& gradient = parameter.tensor.grad();
  if (gradient.layout() != c10::kStrided) {
    throw std::invalid_argument(absl::StrCat(
        "the gradient of parameter '", parameter.name,
        "' is sparse, which is not reduced here: make the embedding with sparse(false)"));
  }
  if (gradient.requires_grad()) {
    throw std::invalid_argument(
        absl::StrCat("the gradient of parameter '", parameter.name,
                     "' is part of a graph itself: backward(create_graph) is not reduced here"));
  }
}

GradientBucket::GradientBucket(std::vector<NamedTensor> parameters, const std::string& name,
                               const CompressionOptions& compression)
    : parameters_(std::move(parameters)),
      has_(parameters_.size()),
      used_here_(parameters_.size()),
      missing_(parameters_.size()) {
  int64_t elements = 0;
  for (const NamedTensor& one : parameters_) elements += one.tensor.numel();
  const int64_t count = static_cast<int64_t>(parameters_.size());
  flat_ = at::zeros({elements + count}, parameters_[0].tensor.options().requires_grad(false));
  int64_t offset = 0;
  std::vector<at::Tensor> views;  // in the parameters' shapes
  for (const NamedTensor& one : parameters_) {
    views.push_back(flat_.narrow(0, offset, one.tensor.numel()).view(one.tensor.sizes()));
    offset += one.tensor.numel();
  }
  used_ = flat_.narrow(0, elements, count);
  sum_ = MakeBucketSum(compression, flat_, std::move(views), name);
}

void GradientBucket::Fill(size_t place, double scale) {
  at::NoGradGuard no_grad;
  CheckReducible(parameters_[place]);
  sum_->Put(place, parameters_[place].tensor.grad(), scale);
  used_here_[place] = 1;
  if (!has_[place]) --missing_;
  has_[place] = true;
}

void GradientBucket::LeaveOut(size_t place) {
  at::NoGradGuard no_grad;
  sum_->PutNothing(place);
  used_here_[place] = 0;
  if (!has_[place]) --missing_;
  has_[place] = true;
}

void GradientBucket::Launch(Communicator& group) {
  // The flags are mostly the same from step to step. Copying them makes the host wait for a GPU, so
  // it is only done when they change.
  if (used_here_ != used_before_) {
    used_before_ = used_here_;
    used_there_ = at::empty_like(used_);
    used_there_.copy_(at::from_blob(used_here_.data(), {used_.numel()}, at::kFloat));
  }
  used_.copy_(used_there_);
  sum_->Begin(group);
}

void GradientBucket::Finish() {
  sum_->Finish();
  at::NoGradGuard no_grad;
  at::Tensor used;  // read only where it matters, since it may be on a GPU
  for (size_t place = 0; place < parameters_.size(); ++place) {
    at::Tensor parameter = parameters_[place].tensor;
    if (parameter.grad().defined()) {
      sum_->Take(place, parameter.grad());
      continue;
    }
    if (!used.defined()) used = used_.to(at::kCPU, at::kFloat);
    if (used[static_cast<int64_t>(place)].item<float>() > 0) {
      at::Tensor sum = at::empty_like(parameter, parameter.options().requires_grad(false));
      sum_->Take(place, sum);
      parameter.mutable_grad() = sum;
    }
  }
  has_.assign(parameters_.size(), false);
  missing_ = parameters_.size();
}

}  // namespace hpc::train
