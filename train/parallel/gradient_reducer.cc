#include "train/parallel/gradient_reducer.h"

#include <ATen/Functions.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "train/buckets/bucket_plan.h"
#include "train/buckets/gradient_bucket.h"
#include "train/parallel/rank_weights.h"
#include "train/sharded/sharded_bucket.h"

namespace hpc::train {

// The state that the hooks share with the reducer. Backward passes call it from threads of
// autograd.
class GradientReducer::State : public std::enable_shared_from_this<State> {
 public:
  State(std::vector<NamedTensor> parameters, std::shared_ptr<Communicator> group,
        const ReducerOptions& options, const std::shared_ptr<GradientShard>& shard);

  void SetHooks();
  void TakeHooksAway();
  void set_synchronized(bool synchronized);
  bool synchronized() const;
  void set_weight(double weight);
  void PrepareForward();
  void SynchronizeGradients();
  std::vector<std::vector<size_t>> plan() const;
  int first_with_batch() const;

  void OnOutput();
  void OnGradient(size_t index);

 private:
  enum class Phase {
    kIdle,
    kLocal,     // a backward pass that only accumulates
    kReducing,  // a backward pass that reduces
  };
  struct Place {
    size_t bucket, place;
  };

  // These must be called with mutex_ held.
  void MakeBuckets(const std::vector<size_t>& order);
  void MakeShardedBuckets(const std::shared_ptr<GradientShard>& shard);
  void CheckIdle();
  void Take(size_t index);
  void LaunchFull();
  void AdvanceTo(size_t end);
  void OnEndOfBackward();
  void ReduceRest();
  void AgreeOnOrder();
  double Scale();
  [[noreturn]] void Refuse(const std::string& reason);

  const std::vector<NamedTensor> parameters_;
  const std::shared_ptr<Communicator> group_;
  const ReducerOptions options_;
  const bool alone_;  // one rank, without buckets: its gradients are the mean already

  mutable std::mutex mutex_;
  Phase phase_ = Phase::kIdle;
  int graph_task_ = -1;  // the backward pass that phase_ belongs to
  bool synchronized_ = true;

  std::vector<std::vector<size_t>> plan_;
  std::vector<std::unique_ptr<Bucket>> buckets_;
  std::vector<Place> places_;  // by parameter
  size_t next_ = 0;            // next bucket to launch
  size_t advanced_ = 0;        // so many buckets have been advanced
  size_t finished_ = 0;        // so many have been finished

  // How often each parameter got a gradient in this pass, and how often it gets one at most. That
  // is more than once where its uses are recomputed one by one. A gradient is ready with the last
  // of them, and only earlier passes tell how many there are.
  std::vector<int> seen_, expected_;
  bool passed_ = false;       // expected_ is known
  bool ordered_ = false;      // the ranks have agreed on an order
  std::vector<size_t> came_;  // parameters, in the order of their gradients

  double weight_ = 1;
  std::optional<double> scale_;  // for this pass
  RankWeights weights_;
};

namespace {

class GradientHook : public torch::autograd::PostAccumulateGradHook {
 public:
  GradientHook(std::weak_ptr<GradientReducer::State> state, size_t index)
      : state_(std::move(state)), index_(index) {}

  bool IsOf(const std::weak_ptr<GradientReducer::State>& state) const {
    return !state_.owner_before(state) && !state.owner_before(state_);
  }

  void operator()(const at::Tensor&) override {
    if (auto state = state_.lock()) state->OnGradient(index_);
  }

 private:
  const std::weak_ptr<GradientReducer::State> state_;
  const size_t index_;
};

}  // namespace

GradientReducer::State::State(std::vector<NamedTensor> parameters,
                              std::shared_ptr<Communicator> group, const ReducerOptions& options,
                              const std::shared_ptr<GradientShard>& shard)
    : parameters_(std::move(parameters)),
      group_(std::move(group)),
      options_(options),
      alone_(group_->size() == 1 && shard == nullptr &&
             options.compression.kind == Compression::kNone),
      seen_(parameters_.size()),
      expected_(parameters_.size(), 1) {
  if (shard != nullptr) {
    if (options_.compression.kind != Compression::kNone) {
      throw std::invalid_argument("gradients that are reduced into shards are not compressed");
    }
    MakeShardedBuckets(shard);
    return;
  }
  if (alone_) {
    places_.resize(parameters_.size());
    ordered_ = true;
    return;
  }
  std::vector<size_t> order;  // mostly, gradients of the last layer come first
  for (size_t i = parameters_.size(); i-- > 0;) order.push_back(i);
  MakeBuckets(order);
}

void GradientReducer::State::SetHooks() {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    torch::autograd::impl::set_post_acc_grad_hooks(
        parameters_[i].tensor, std::make_unique<GradientHook>(weak_from_this(), i));
  }
}

// Leaves the hooks of another reducer, which may have replaced this one.
void GradientReducer::State::TakeHooksAway() {
  for (const NamedTensor& one : parameters_) {
    const auto* hook = dynamic_cast<const GradientHook*>(
        torch::autograd::impl::post_acc_grad_hooks(one.tensor).get());
    if (hook == nullptr || !hook->IsOf(weak_from_this())) continue;
    torch::autograd::impl::set_post_acc_grad_hooks(one.tensor, nullptr);
  }
}

void GradientReducer::State::set_synchronized(bool synchronized) {
  std::lock_guard lock(mutex_);
  synchronized_ = synchronized;
}

bool GradientReducer::State::synchronized() const {
  std::lock_guard lock(mutex_);
  return synchronized_;
}

void GradientReducer::State::set_weight(double weight) {
  if (!std::isfinite(weight) || weight < 0) {
    throw std::invalid_argument(absl::StrCat("a rank's weight is ", weight,
                                             "; it must be 0 or more, as a number of samples is"));
  }
  if (!options_.weighted) {
    throw std::invalid_argument("weights need ReducerOptions::weighted, on all ranks");
  }
  std::lock_guard lock(mutex_);
  weight_ = weight;
}

void GradientReducer::State::PrepareForward() {
  std::lock_guard lock(mutex_);
  CheckIdle();
  if (!options_.weighted) return;
  weights_.Begin(*group_, weight_, "weights of ranks");
}

void GradientReducer::State::SynchronizeGradients() {
  std::lock_guard lock(mutex_);
  CheckIdle();
  phase_ = Phase::kReducing;
  ReduceRest();
}

std::vector<std::vector<size_t>> GradientReducer::State::plan() const {
  std::lock_guard lock(mutex_);
  return plan_;
}

int GradientReducer::State::first_with_batch() const {
  std::lock_guard lock(mutex_);
  return weights_.first();
}

void GradientReducer::State::MakeBuckets(const std::vector<size_t>& order) {
  // Messages of PowerSGD are short whatever the size of a bucket. With smaller buckets, less is
  // left to be computed when the backward pass has ended.
  constexpr size_t kPowerSgdBytes = 10 << 20;
  size_t bytes = options_.bucket_bytes;
  if (options_.compression.kind == Compression::kPowerSgd) bytes = std::min(bytes, kPowerSgdBytes);
  plan_ = PlanBuckets(BucketItemsOf(parameters_), order, options_.first_bucket_bytes, bytes);
  buckets_.clear();
  places_.resize(parameters_.size());
  for (size_t bucket = 0; bucket < plan_.size(); ++bucket) {
    std::vector<NamedTensor> members;
    for (size_t index : plan_[bucket]) {
      places_[index] = {bucket, members.size()};
      members.push_back(parameters_[index]);
    }
    buckets_.push_back(std::make_unique<GradientBucket>(
        std::move(members), absl::StrCat("gradients ", bucket), options_.compression));
  }
}

// Uses the shard's own buckets: the owner of an element must not change while optimizers have
// states.
void GradientReducer::State::MakeShardedBuckets(const std::shared_ptr<GradientShard>& shard) {
  std::map<const void*, size_t> indices;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    indices[parameters_[i].tensor.unsafeGetTensorImpl()] = i;
  }
  places_.resize(parameters_.size());
  for (size_t bucket = 0; bucket < shard->plan().size(); ++bucket) {
    plan_.emplace_back();
    for (size_t of_shard : shard->plan()[bucket].parameters) {
      const NamedTensor& one = shard->parameters()[of_shard];
      const auto index = indices.find(one.tensor.unsafeGetTensorImpl());
      if (index == indices.end()) {
        throw std::invalid_argument(absl::StrCat(
            "parameter '", one.name,
            "' is one of the optimizer's, and none of the model's that require a gradient"));
      }
      places_[index->second] = {bucket, plan_.back().size()};
      plan_.back().push_back(index->second);
      indices.erase(index);
    }
    buckets_.push_back(std::make_unique<ShardedBucket>(shard, bucket));
  }
  if (!indices.empty()) {
    throw std::invalid_argument(
        absl::StrCat("parameter '", parameters_[indices.begin()->second].name,
                     "' requires a gradient, and is none of the optimizer's"));
  }
  ordered_ = true;
}

// If an exception in the model broke off a pass that reduces, some buckets are under way and the
// others never will be.
void GradientReducer::State::CheckIdle() {
  if (phase_ == Phase::kReducing) {
    Refuse("a backward pass that reduces gradients ended early, with an error of its own");
  }
  phase_ = Phase::kIdle;
}

void GradientReducer::State::Refuse(const std::string& reason) {
  group_->Abort(reason);
  group_->Barrier({"gradients", {}})->Wait();  // the group is dead, so this throws the reason
  throw std::logic_error(reason);
}

void GradientReducer::State::OnOutput() {
  std::lock_guard lock(mutex_);
  const int graph_task = torch::autograd::get_current_graph_task_id();
  // The pass has begun already, with another output.
  if (phase_ != Phase::kIdle && graph_task == graph_task_) return;
  CheckIdle();
  phase_ = synchronized_ ? Phase::kReducing : Phase::kLocal;
  graph_task_ = graph_task;
  seen_.assign(parameters_.size(), 0);
  came_.clear();
  torch::autograd::Engine::get_default_engine().queue_callback([weak = weak_from_this()] {
    auto state = weak.lock();
    if (state == nullptr) return;
    std::lock_guard end_lock(state->mutex_);
    state->OnEndOfBackward();
  });
}

void GradientReducer::State::OnGradient(size_t index) {
  std::lock_guard lock(mutex_);
  // A loss that contains no output only accumulates its gradient.
  if (phase_ == Phase::kIdle) return;
  if (++seen_[index] == 1) came_.push_back(index);
  if (phase_ == Phase::kLocal) return;
  // Refuses what would not work with more ranks either.
  if (alone_) return CheckReducible(parameters_[index]);
  if (places_[index].bucket < next_) {
    Refuse(absl::StrCat("parameter '", parameters_[index].name, "' got its gradient number ",
                        seen_[index], " of one backward pass, where the most before was ",
                        expected_[index],
                        ", and the sum of those is on its way already: set overlap to false"));
  }
  if (!options_.overlap || !ordered_ || !passed_ || seen_[index] < expected_[index]) return;
  Take(index);
  LaunchFull();
}

void GradientReducer::State::Take(size_t index) {
  const Place at = places_[index];
  const double scale = Scale();
  if (parameters_[index].tensor.grad().defined() && scale != 0) {
    buckets_[at.bucket]->Fill(at.place, scale);
  } else {
    buckets_[at.bucket]->LeaveOut(at.place);  // 0 x infinity would not be 0
  }
}

void GradientReducer::State::LaunchFull() {
  // The second message of a bucket, if it has one, follows when two more buckets have begun. By
  // then the first message has mostly come, and all ranks keep to the same order. The same holds
  // for finishing after the second.
  constexpr size_t kBetween = 2;
  while (next_ < buckets_.size() && buckets_[next_]->Full()) {
    buckets_[next_++]->Launch(*group_);
    if (next_ > kBetween) AdvanceTo(next_ - kBetween);
    while (finished_ + kBetween < advanced_ && buckets_[finished_]->brief()) {
      buckets_[finished_++]->Finish();
    }
  }
}

void GradientReducer::State::AdvanceTo(size_t end) {
  while (advanced_ < end) buckets_[advanced_++]->Advance(*group_);
}

double GradientReducer::State::Scale() {
  if (scale_) return *scale_;
  if (!options_.weighted) return *(scale_ = 1.0 / group_->size());
  if (!weights_.begun()) {
    Refuse(
        "a backward pass that reduces came without a forward pass in training mode, which tells "
        "the ranks' weights (PrepareForward)");
  }
  weights_.Wait();
  return *(scale_ = weights_.share());
}

void GradientReducer::State::OnEndOfBackward() {
  for (size_t i = 0; i < parameters_.size(); ++i) expected_[i] = std::max(expected_[i], seen_[i]);
  if (phase_ == Phase::kReducing) ReduceRest();
  passed_ = true;
  phase_ = Phase::kIdle;
}

void GradientReducer::State::ReduceRest() {
  if (alone_) Scale();  // throws if no rank has a batch
  for (size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    for (size_t index : plan_[bucket]) {
      if (bucket >= next_ && !buckets_[bucket]->Has(places_[index].place)) Take(index);
    }
    LaunchFull();
  }
  AdvanceTo(buckets_.size());
  while (finished_ < buckets_.size()) buckets_[finished_++]->Finish();
  next_ = advanced_ = finished_ = 0;
  scale_.reset();
  if (!ordered_) AgreeOnOrder();
  came_.clear();
  phase_ = Phase::kIdle;
}

// Takes the order of rank 0, if it has had a backward pass. Unused parameters come last.
void GradientReducer::State::AgreeOnOrder() {
  const size_t count = parameters_.size();
  at::Tensor message = at::zeros({static_cast<int64_t>(count) + 1}, at::kLong);
  auto* numbers = message.data_ptr<int64_t>();
  std::vector<bool> in(count);
  size_t filled = 0;
  for (size_t index : came_) {
    numbers[filled++] = static_cast<int64_t>(index);
    in[index] = true;
  }
  for (size_t i = count; i-- > 0;) {
    if (!in[i]) numbers[filled++] = static_cast<int64_t>(i);
  }
  numbers[count] = came_.empty() ? 0 : 1;
  group_->Broadcast(message, 0, {"order of gradients", {}})->Wait();
  if (numbers[count] == 0) return;
  ordered_ = true;
  MakeBuckets(std::vector<size_t>(numbers, numbers + count));
}

GradientReducer::GradientReducer(std::vector<NamedTensor> parameters,
                                 std::shared_ptr<Communicator> group, const ReducerOptions& options,
                                 const std::shared_ptr<GradientShard>& shard)
    : state_(std::make_shared<State>(std::move(parameters), std::move(group), options, shard)) {
  state_->SetHooks();
}

GradientReducer::~GradientReducer() { state_->TakeHooksAway(); }

void GradientReducer::set_synchronized(bool synchronized) {
  state_->set_synchronized(synchronized);
}
bool GradientReducer::synchronized() const { return state_->synchronized(); }
void GradientReducer::set_weight(double weight) { state_->set_weight(weight); }
void GradientReducer::PrepareForward() { state_->PrepareForward(); }
void GradientReducer::SynchronizeGradients() { state_->SynchronizeGradients(); }
std::vector<std::vector<size_t>> GradientReducer::buckets() const { return state_->plan(); }
int GradientReducer::first_with_batch() const { return state_->first_with_batch(); }

void GradientReducer::WatchOutputs(const std::vector<at::Tensor>& outputs) {
  for (const at::Tensor& output : outputs) {
    if (!output.defined() || !output.requires_grad()) continue;
    output.register_hook([weak = std::weak_ptr<State>(state_)](const at::Tensor&) {
      if (auto state = weak.lock()) state->OnOutput();
    });
  }
}

}  // namespace hpc::train
