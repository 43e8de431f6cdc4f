#include "train/sharded/sharded_optimizer.h"

#include <ATen/DeviceAccelerator.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "train/buckets/gradient_bucket.h"
#include "train/group/agreement.h"

namespace hpc::train {
namespace {

// How many buckets of parameters are gathered while the next ones are stepped.
constexpr size_t kGathersUnderWay = 3;

std::vector<std::string> StateNames(Algorithm algorithm) {
  if (algorithm == Algorithm::kSgd) return {"momentum_buffer"};
  return {"exp_avg", "exp_avg_sq"};
}

std::string DescribeHyperparameters(const Hyperparameters& one) {
  return absl::StrCat("lr=", one.lr, " weight_decay=", one.weight_decay, " maximize=", one.maximize,
                      " momentum=", one.momentum, " dampening=", one.dampening,
                      " nesterov=", one.nesterov, " betas=", one.beta1, ",", one.beta2,
                      " eps=", one.eps);
}

void CheckPossible(const Hyperparameters& one, Algorithm algorithm) {
  auto positive = [](double value) { return std::isfinite(value) && value >= 0; };
  bool possible = positive(one.lr) && positive(one.weight_decay);
  if (algorithm == Algorithm::kSgd) {
    possible = possible && positive(one.momentum) && std::isfinite(one.dampening) &&
               (!one.nesterov || (one.momentum > 0 && one.dampening == 0));
  } else {
    possible = possible && positive(one.eps) && one.beta1 >= 0 && one.beta1 < 1 && one.beta2 >= 0 &&
               one.beta2 < 1;
  }
  if (possible) return;
  throw std::invalid_argument(
      absl::StrCat("hyperparameters that are not possible: ", DescribeHyperparameters(one),
                   "; betas are in [0, 1), others not negative, and nesterov needs momentum "
                   "without dampening"));
}

std::vector<at::Tensor> NormsOf(const std::vector<at::Tensor>& tensors) {
  const bool wide = std::any_of(tensors.begin(), tensors.end(), [](const at::Tensor& one) {
    return one.scalar_type() == at::kDouble;
  });
  return at::_foreach_norm(tensors, 2, wide ? at::kDouble : at::kFloat);
}

// Holds parameters and gradients in the place where their step is taken. Those of a GPU are copied
// to the states, and parameters are copied back. All copies go at once, through pinned memory, and
// are complete after Await.
class Placed {
 public:
  Placed(bool offload, size_t count) : offload_(offload) {
    there_.reserve(count);
    parameters_.reserve(count);
    gradients_.reserve(count);
  }
  void Add(const at::Tensor& parameter, const at::Tensor& gradient) {
    there_.push_back(parameter);
    parameters_.push_back(Bring(parameter));
    gradients_.push_back(Bring(gradient));
  }
  void Await() const {
    if (offload_ && !there_.empty() && !there_[0].is_cpu()) {
      at::accelerator::getCurrentStream(there_[0].device().index()).synchronize();
    }
  }
  bool empty() const { return there_.empty(); }
  const std::vector<at::Tensor>& parameters() const { return parameters_; }
  const std::vector<at::Tensor>& gradients() const { return gradients_; }
  void PutBack() {
    for (size_t i = 0; i < parameters_.size(); ++i) {
      if (!parameters_[i].is_same(there_[i])) {
        there_[i].copy_(parameters_[i], /*non_blocking=*/true);
      }
    }
  }

 private:
  at::Tensor Bring(const at::Tensor& tensor) const {
    return offload_ ? tensor.to(at::kCPU, tensor.scalar_type(), /*non_blocking=*/true) : tensor;
  }

  const bool offload_;
  std::vector<at::Tensor> there_, parameters_, gradients_;
};

}  // namespace

std::string AlgorithmName(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kSgd:
      return "sgd";
    case Algorithm::kAdam:
      return "adam";
    case Algorithm::kAdamW:
      return "adamw";
  }
  throw std::invalid_argument("no such Algorithm");
}

struct ShardedOptimizer::Slice {
  size_t group;
  int64_t at, count;     // in the shard
  at::Tensor parameter;  // shares the parameter's memory
  // Set from the first step on:
  std::vector<at::Tensor> states;
  at::Tensor step;
  bool has_momentum = false;
};

struct ShardedOptimizer::Shard {
  std::vector<Slice> slices;
  std::vector<at::Tensor> states;  // those of all slices, one after the other
  at::Tensor steps;                // one for each slice
};

struct ShardedOptimizer::Gather {
  size_t bucket;
  at::Tensor mine, all;
  PendingPtr pending;
};

ShardedOptimizer::ShardedOptimizer(Algorithm algorithm, std::vector<ParameterGroup> groups,
                                   std::shared_ptr<Communicator> group,
                                   const ShardedOptions& options)
    : algorithm_(algorithm), group_(std::move(group)), options_(options) {
  for (size_t i = 0; i < groups.size(); ++i) {
    hyperparameters_.push_back(groups[i].hyperparameters);
    for (NamedTensor& one : EachOnce(std::move(groups[i].parameters))) {
      if (!one.tensor.requires_grad()) continue;
      parameters_.push_back(std::move(one));
      group_of_.push_back(i);
    }
  }
  CheckAgreement();
  std::vector<int64_t> elements;
  for (const NamedTensor& one : parameters_) {
    elements.push_back(one.tensor.numel());
    flat_.push_back(one.tensor.detach().view(-1));
  }
  plan_ = PlanShards(BucketItemsOf(parameters_), elements, group_->size(),
                     options_.first_bucket_bytes, options_.bucket_bytes);
  if (options_.stage == 2) {
    shard_ = std::make_shared<GradientShard>(parameters_, plan_, group_->rank());
  }
  MakeShards();
}

ShardedOptimizer::~ShardedOptimizer() = default;

std::optional<std::string> ShardedOptimizer::Fault() const {
  if (options_.stage != 1 && options_.stage != 2) {
    return absl::StrCat("stage ", options_.stage, " of ZeRO is not offered, but 1 and 2");
  }
  std::map<const void*, size_t> groups;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const auto& [name, tensor] = parameters_[i];
    if (!groups.emplace(tensor.unsafeGetTensorImpl(), group_of_[i]).second) {
      return absl::StrCat("parameter '", name, "' is in two groups");
    }
    const char* const why = !tensor.is_floating_point() ? "is not of a floating-point type"
                            : !tensor.is_leaf()         ? "is computed from others (no leaf)"
                            : !tensor.is_contiguous()   ? "is not contiguous"
                                                        : nullptr;
    if (why != nullptr) return absl::StrCat("parameter '", name, "' ", why);
  }
  try {
    for (const Hyperparameters& one : hyperparameters_) CheckPossible(one, algorithm_);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return std::nullopt;
}

void ShardedOptimizer::CheckAgreement() const {
  std::vector<std::string> lines = {absl::StrCat(
      "optimizer ", static_cast<int>(algorithm_), " stage=", options_.stage, " first_bucket_bytes=",
      options_.first_bucket_bytes, " bucket_bytes=", options_.bucket_bytes)};
  for (const Hyperparameters& one : hyperparameters_) {
    lines.push_back("group of parameters " + DescribeHyperparameters(one));
  }
  const std::vector<std::string> tensors = DescribeTensors("parameter", parameters_);
  for (size_t i = 0; i < tensors.size(); ++i) {
    lines.push_back(absl::StrCat(tensors[i], " in group ", group_of_[i]));
  }
  const std::optional<std::string> fault = Fault();
  if (fault) lines.push_back("a fault: " + *fault);
  CheckSameOnAllRanks(*group_, lines);
  if (fault) throw std::invalid_argument(*fault);
}

void ShardedOptimizer::MakeShards() {
  for (const ShardBucket& bucket : plan_) {
    shards_.emplace_back();
    for (const ShardSlice& slice : bucket.ranks[group_->rank()]) {
      shards_.back().slices.push_back(
          {.group = group_of_[slice.parameter],
           .at = slice.at,
           .count = slice.count,
           .parameter = flat_[slice.parameter].narrow(0, slice.begin, slice.count)});
    }
  }
}

size_t ShardedOptimizer::StatesOfEach() const {
  if (algorithm_ != Algorithm::kSgd) return 2;
  for (const Hyperparameters& one : hyperparameters_) {
    if (one.momentum != 0) return 1;
  }
  return 0;
}

// Makes the states that do not exist yet, and leaves the others.
void ShardedOptimizer::MakeStates(Shard* shard) {
  if (shard->slices.empty()) return;
  const Slice& last = shard->slices.back();
  auto options = last.parameter.options();
  if (options_.offload) options = options.device(at::kCPU);
  while (shard->states.size() < StatesOfEach()) {
    shard->states.push_back(at::zeros({last.at + last.count}, options));
    for (Slice& one : shard->slices) {
      one.states.push_back(shard->states.back().narrow(0, one.at, one.count));
    }
  }
  if (shard->steps.defined()) return;
  // SGD's kernel does not use them, so they are on the CPU.
  if (algorithm_ == Algorithm::kSgd) options = options.device(at::kCPU);
  shard->steps = at::zeros({static_cast<int64_t>(shard->slices.size())}, options.dtype(at::kFloat));
  for (size_t i = 0; i < shard->slices.size(); ++i) {
    shard->slices[i].step = shard->steps.select(0, static_cast<int64_t>(i));
  }
}

void ShardedOptimizer::ZeroGrad() {
  for (const NamedTensor& one : parameters_) one.tensor.mutable_grad().reset();
  if (shard_ != nullptr) shard_->Clear();
}

at::Tensor ShardedOptimizer::OwnGradient(size_t bucket, size_t slice) {
  if (shard_ != nullptr) return shard_->gradient(bucket, slice);
  const ShardSlice& where = plan_[bucket].ranks[group_->rank()][slice];
  const NamedTensor& parameter = parameters_[where.parameter];
  at::Tensor& gradient = parameter.tensor.mutable_grad();
  if (!gradient.defined()) return at::Tensor();
  CheckReducible(parameter);
  if (!gradient.is_contiguous()) gradient = gradient.contiguous();
  return gradient.view(-1).narrow(0, where.begin, where.count);
}

std::vector<at::Tensor> ShardedOptimizer::OwnGradients() {
  at::NoGradGuard no_grad;
  std::vector<at::Tensor> gradients;
  for (size_t bucket = 0; bucket < shards_.size(); ++bucket) {
    for (size_t slice = 0; slice < shards_[bucket].slices.size(); ++slice) {
      at::Tensor gradient = OwnGradient(bucket, slice);
      if (gradient.defined()) gradients.push_back(std::move(gradient));
    }
  }
  return gradients;
}

double ShardedOptimizer::ClipGradNorm(double max_norm) {
  if (!(max_norm >= 0)) {
    throw std::invalid_argument(
        absl::StrCat("gradients cannot be clipped to a norm of ", max_norm));
  }
  at::NoGradGuard no_grad;
  const std::vector<at::Tensor> gradients = OwnGradients();
  const at::Device device = parameters_.empty() ? at::kCPU : parameters_[0].tensor.device();
  // The sum is computed on the gradients' device. Each number that is read from a GPU makes the
  // host wait for all of its work.
  at::Tensor total = at::zeros({1}, at::TensorOptions(at::kDouble).device(device));
  if (!gradients.empty()) {
    total += at::stack(NormsOf(gradients)).to(device, at::kDouble).square().sum();
  }
  group_->AllReduce(total, ReduceOp::kSum, {"norm of gradients", {}})->Wait();
  const double norm = std::sqrt(total.item<double>());
  const double scale = max_norm / (norm + 1e-6);  // the same as torch's clip_grad_norm_
  if (!std::isfinite(norm) || scale >= 1) return norm;
  if (!gradients.empty()) at::_foreach_mul_(gradients, scale);
  return norm;
}

void ShardedOptimizer::Step() {
  at::NoGradGuard no_grad;
  for (const Hyperparameters& one : hyperparameters_) CheckPossible(one, algorithm_);
  if (shard_ != nullptr) CheckReduced();
  std::deque<Gather> under_way;
  for (size_t bucket = 0; bucket < plan_.size(); ++bucket) {
    StepShard(bucket);
    if (group_->size() == 1) continue;
    under_way.push_back(BeginGather(bucket));
    if (under_way.size() < kGathersUnderWay) continue;
    EndGather(std::move(under_way.front()));
    under_way.pop_front();
  }
  for (Gather& one : under_way) EndGather(std::move(one));
}

void ShardedOptimizer::CheckReduced() const {
  for (const NamedTensor& one : parameters_) {
    if (!one.tensor.grad().defined()) continue;
    throw std::invalid_argument(absl::StrCat(
        "parameter '", one.name,
        "' has a gradient that was not reduced into the shard of stage 2: give the model's "
        "DistributedDataParallel {.shard = optimizer.shard()}, and end passes in no_sync() with "
        "one "
        "that reduces"));
  }
}

void ShardedOptimizer::StepShard(size_t bucket) {
  Shard& shard = shards_[bucket];
  std::vector<std::vector<Slice*>> slices(hyperparameters_.size());
  std::vector<std::vector<at::Tensor>> gradients(hyperparameters_.size());
  for (size_t i = 0; i < shard.slices.size(); ++i) {
    at::Tensor gradient = OwnGradient(bucket, i);
    if (!gradient.defined()) continue;
    slices[shard.slices[i].group].push_back(&shard.slices[i]);
    gradients[shard.slices[i].group].push_back(std::move(gradient));
  }
  for (size_t group = 0; group < slices.size(); ++group) {
    if (slices[group].empty()) continue;
    MakeStates(&shard);
    if (algorithm_ == Algorithm::kSgd) {
      StepSgd(hyperparameters_[group], slices[group], gradients[group]);
    } else {
      StepAdam(hyperparameters_[group], slices[group], gradients[group]);
    }
  }
}

// The kernel takes either only tensors in their first step, or none of those.
void ShardedOptimizer::StepSgd(const Hyperparameters& now, const std::vector<Slice*>& slices,
                               const std::vector<at::Tensor>& gradients) {
  const bool momentum = now.momentum != 0;
  for (bool first : {false, true}) {
    Placed placed(options_.offload, slices.size());
    std::vector<at::Tensor> buffers;
    for (size_t i = 0; i < slices.size(); ++i) {
      Slice& slice = *slices[i];
      if ((momentum && !slice.has_momentum) != first) continue;
      placed.Add(slice.parameter, gradients[i]);
      if (momentum) buffers.push_back(slice.states[0]);
      *slice.step.data_ptr<float>() += 1;
    }
    if (placed.empty()) continue;
    placed.Await();
    at::_fused_sgd_(placed.parameters(), placed.gradients(), buffers, now.weight_decay,
                    now.momentum, now.lr, now.dampening, now.nesterov, now.maximize, first);
    placed.PutBack();
  }
  for (Slice* slice : slices) slice->has_momentum = slice->has_momentum || momentum;
}

void ShardedOptimizer::StepAdam(const Hyperparameters& now, const std::vector<Slice*>& slices,
                                const std::vector<at::Tensor>& gradients) {
  Placed placed(options_.offload, slices.size());
  std::vector<at::Tensor> averages, squares, steps;
  for (size_t i = 0; i < slices.size(); ++i) {
    placed.Add(slices[i]->parameter, gradients[i]);
    averages.push_back(slices[i]->states[0]);
    squares.push_back(slices[i]->states[1]);
    steps.push_back(slices[i]->step);
  }
  placed.Await();
  at::_foreach_add_(steps, 1);
  auto step = [&](auto&& kernel) {
    kernel(placed.parameters(), placed.gradients(), averages, squares, at::TensorList(), steps,
           now.lr, now.beta1, now.beta2, now.weight_decay, now.eps, /*amsgrad=*/false,
           now.maximize);
  };
  if (algorithm_ == Algorithm::kAdamW) {
    step([](auto&&... arguments) { at::_fused_adamw_(arguments...); });
  } else {
    step([](auto&&... arguments) { at::_fused_adam_(arguments...); });
  }
  placed.PutBack();
}

ShardedOptimizer::Gather ShardedOptimizer::BeginGather(size_t bucket) {
  const ShardBucket& plan = plan_[bucket];
  const auto like = flat_[plan.parameters[0]].options();
  Gather gather = {.bucket = bucket,
                   .mine = at::empty({plan.part}, like),
                   .all = at::empty({plan.part * group_->size()}, like)};
  for (const Slice& one : shards_[bucket].slices) {
    gather.mine.narrow(0, one.at, one.count).copy_(one.parameter);
  }
  gather.pending =
      group_->AllGather(gather.all, gather.mine, {absl::StrCat("parameters ", bucket), {}});
  return gather;
}

void ShardedOptimizer::EndGather(Gather gather) {
  gather.pending->Wait();
  const ShardBucket& plan = plan_[gather.bucket];
  for (size_t i = 0; i < plan.parameters.size(); ++i) {
    at::Tensor& parameter = flat_[plan.parameters[i]];
    parameter.copy_(gather.all.narrow(0, plan.offsets[i], parameter.numel()));
  }
}

std::vector<ShardedOptimizer::StateSlice> ShardedOptimizer::States() const {
  const std::vector<std::string> names = StateNames(algorithm_);
  std::vector<StateSlice> states;
  for (size_t bucket = 0; bucket < shards_.size(); ++bucket) {
    if (!shards_[bucket].steps.defined()) continue;
    const at::Tensor steps = shards_[bucket].steps.to(at::kCPU);
    const std::vector<ShardSlice>& where = plan_[bucket].ranks[group_->rank()];
    for (size_t i = 0; i < where.size(); ++i) {
      const Slice& slice = shards_[bucket].slices[i];
      if (steps.const_data_ptr<float>()[i] == 0) continue;
      const std::string& parameter = parameters_[where[i].parameter].name;
      states.push_back({parameter, "step", where[i].begin, slice.step.view(-1)});
      if (algorithm_ == Algorithm::kSgd && !slice.has_momentum) continue;
      for (size_t state = 0; state < slice.states.size(); ++state) {
        states.push_back({parameter, names[state], where[i].begin, slice.states[state]});
      }
    }
  }
  return states;
}

void ShardedOptimizer::LoadStates(const std::function<bool(StateSlice& wanted)>& read) {
  at::NoGradGuard no_grad;
  const std::vector<std::string> names = StateNames(algorithm_);
  for (size_t bucket = 0; bucket < shards_.size(); ++bucket) {
    MakeStates(&shards_[bucket]);
    const std::vector<ShardSlice>& where = plan_[bucket].ranks[group_->rank()];
    for (size_t i = 0; i < where.size(); ++i) {
      Slice& slice = shards_[bucket].slices[i];
      StateSlice wanted = {parameters_[where[i].parameter].name, "step", where[i].begin,
                           at::zeros({1}, at::kFloat)};
      const bool stepped = read(wanted);
      slice.step.copy_(wanted.values[0]);
      for (size_t state = 0; state < slice.states.size(); ++state) {
        wanted = {wanted.parameter, names[state], where[i].begin,
                  at::zeros_like(slice.states[state], at::kCPU)};
        const bool found = stepped && read(wanted);
        slice.states[state].copy_(wanted.values);
        if (algorithm_ == Algorithm::kSgd) {
          slice.has_momentum = found;
        } else if (stepped && !found) {
          throw std::invalid_argument(absl::StrCat("there is no ", names[state], " of parameter '",
                                                   wanted.parameter, "', but its step"));
        }
      }
    }
  }
}

size_t ShardedOptimizer::StateBytes() const {
  size_t bytes = 0;
  for (const Shard& shard : shards_) {
    for (const at::Tensor& state : shard.states) bytes += state.nbytes();
    if (shard.steps.defined()) bytes += shard.steps.nbytes();
  }
  return bytes;
}

}  // namespace hpc::train
