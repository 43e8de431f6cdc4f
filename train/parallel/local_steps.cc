#include "train/parallel/local_steps.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <functional>
#include <map>
#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "train/buckets/coalesced.h"
#include "train/parallel/rank_weights.h"

namespace hpc::train {
namespace {

// Tensors of one type and device travel together, in messages of about this size. With many small
// messages, computing and sending overlap except for the first and the last message.
constexpr int64_t kMessageBytes = 8 << 20;

struct Message {
  at::Tensor flat;
  std::vector<at::Tensor> views;
  std::vector<size_t> which;
  std::unique_ptr<BucketSum> sum;
};

std::vector<Message> MakeMessages(const std::vector<NamedTensor>& tensors,
                                  const CompressionOptions& compression) {
  std::map<std::pair<at::ScalarType, std::string>, std::vector<std::vector<size_t>>> kinds;
  std::map<std::pair<at::ScalarType, std::string>, int64_t> bytes;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const at::Tensor& tensor = tensors[i].tensor;
    const auto kind = std::make_pair(tensor.scalar_type(), tensor.device().str());
    auto& groups = kinds[kind];
    if (groups.empty() || bytes[kind] > kMessageBytes) {
      groups.emplace_back();
      bytes[kind] = 0;
    }
    groups.back().push_back(i);
    bytes[kind] += static_cast<int64_t>(tensor.nbytes());
  }
  std::vector<Message> messages;
  for (const auto& [kind, groups] : kinds) {
    for (const std::vector<size_t>& which : groups) {
      Message message = {.which = which};
      int64_t elements = 0;
      for (size_t i : which) elements += tensors[i].tensor.numel();
      message.flat = at::zeros({elements}, tensors[which[0]].tensor.options().requires_grad(false));
      int64_t at = 0;
      for (size_t i : which) {
        const at::Tensor& tensor = tensors[i].tensor;
        message.views.push_back(message.flat.narrow(0, at, tensor.numel()).view(tensor.sizes()));
        at += tensor.numel();
      }
      message.sum = MakeBucketSum(compression, message.flat, message.views,
                                  absl::StrCat("local steps ", messages.size()));
      messages.push_back(std::move(message));
    }
  }
  return messages;
}

// `send` fills a view with this rank's values, and `take` reads the sum from it.
void SumAll(Communicator& group, std::vector<Message> messages,
            const std::function<void(size_t, at::Tensor)>& send,
            const std::function<void(size_t, const at::Tensor&)>& take) {
  for (Message& message : messages) {
    for (size_t i = 0; i < message.which.size(); ++i) send(message.which[i], message.views[i]);
    message.sum->Begin(group);
  }
  for (Message& message : messages) {
    message.sum->Finish();
    for (size_t i = 0; i < message.which.size(); ++i) take(message.which[i], message.views[i]);
  }
}

}  // namespace

LocalSteps::LocalSteps(std::vector<NamedTensor> parameters, std::vector<NamedTensor> buffers,
                       std::shared_ptr<Communicator> group, const LocalStepsOptions& options)
    : parameters_(std::move(parameters)),
      buffers_(std::move(buffers)),
      group_(std::move(group)),
      options_(options) {
  if (options_.steps < 1) throw std::invalid_argument("local steps must be 1 or more");
  if (options_.compression == Compression::kPowerSgd) {
    throw std::invalid_argument(
        "PowerSGD compresses gradients, not the differences of local steps");
  }
  at::NoGradGuard no_grad;
  for (const NamedTensor& one : parameters_) {
    anchors_.push_back(one.tensor.detach().clone());
    momenta_.push_back({one.name, at::zeros_like(anchors_.back())});
  }
}

bool LocalSteps::Step(double weight) {
  weight_ += weight;
  if (++steps_ < options_.steps) return false;
  OuterStep();
  return true;
}

void LocalSteps::Synchronize() {
  if (steps_ > 0) OuterStep();
}

void LocalSteps::Reset() {
  at::NoGradGuard no_grad;
  for (size_t i = 0; i < parameters_.size(); ++i) anchors_[i].copy_(parameters_[i].tensor);
  steps_ = 0;
  weight_ = 0;
}

void LocalSteps::OuterStep() {
  at::NoGradGuard no_grad;
  RankWeights weights;
  weights.Begin(*group_, weight_, "weights of local steps");
  weights.Wait();
  const double share = weights.share();
  const CompressionOptions compression = {.kind = options_.compression};

  SumAll(
      *group_, MakeMessages(parameters_, compression),
      [&](size_t i, at::Tensor view) {
        // A rank without samples has not moved. It is skipped, because its model may have values
        // that are not finite.
        if (share == 0) return;
        at::sub_out(view, anchors_[i], parameters_[i].tensor).mul_(share);
      },
      [&](size_t i, const at::Tensor& difference) {
        at::Tensor velocity = momenta_[i].tensor;
        velocity.mul_(options_.momentum).add_(difference);
        anchors_[i].sub_(difference, options_.lr);
        anchors_[i].sub_(velocity, options_.lr * options_.momentum);
        at::Tensor parameter = parameters_[i].tensor;
        parameter.copy_(anchors_[i]);
      });

  std::vector<NamedTensor> means;
  std::vector<at::Tensor> others;
  for (const NamedTensor& one : buffers_) {
    if (at::isFloatingType(one.tensor.scalar_type())) {
      means.push_back(one);
    } else {
      others.push_back(one.tensor);
    }
  }
  SumAll(
      *group_, MakeMessages(means, {}),
      [&](size_t i, at::Tensor view) {
        if (share == 0) return;
        at::mul_out(view, means[i].tensor, at::scalar_tensor(share));
      },
      [&](size_t i, const at::Tensor& mean) {
        at::Tensor buffer = means[i].tensor;
        buffer.copy_(mean);
      });
  BroadcastCoalesced(*group_, others, weights.first(), "buffers after local steps");
  steps_ = 0;
  weight_ = 0;
}

}  // namespace hpc::train
