// SGD, Adam and AdamW on LibTorch's fused kernels, with states that the ranks divide among
// themselves (ZeRO). With one rank it is a plain optimizer, and nothing is copied or sent.
//
//     hpc::train::ShardedOptimizer optimizer(hpc::train::Algorithm::kAdamW,
//                                            {{hpc::train::Named(net->named_parameters()),
//                                              {.lr = 3e-4, .weight_decay = 0.01}}},
//                                            group, {.stage = 2});
//     hpc::train::DistributedDataParallel<Net> model(net, group, {.shard = optimizer.shard()});
//     for (...) {
//       optimizer.ZeroGrad();
//       loss_of(model(batch)).backward();
//       optimizer.ClipGradNorm(1.0);
//       optimizer.Step();
//     }
//
// In stage 1, gradients are all-reduced as usual. Each rank has the states of its own slices
// (shard_plan.h), and updates only those parameters; then all ranks gather the parameters. In stage
// 2, gradients are reduce-scattered to the owners of the slices while the backward pass runs, and
// no rank keeps the others'. The result is that of the same optimizer on every rank, except for the
// order of sums.
#ifndef HPC_TRAIN_SHARDED_SHARDED_OPTIMIZER_H_
#define HPC_TRAIN_SHARDED_SHARDED_OPTIMIZER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "train/group/communicator.h"
#include "train/sharded/gradient_shard.h"
#include "train/tensors/named_tensor.h"

namespace hpc::train {

enum class Algorithm { kSgd, kAdam, kAdamW };
std::string AlgorithmName(Algorithm algorithm);  // "adamw"

// The names are those of torch.optim. Unlike there, weights only decay if it is asked for. All
// values may change between steps, alike on all ranks.
struct Hyperparameters {
  double lr = 1e-3;
  double weight_decay = 0;
  bool maximize = false;
  // For SGD:
  double momentum = 0, dampening = 0;
  bool nesterov = false;
  // For Adam and AdamW:
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
};

struct ParameterGroup {
  std::vector<NamedTensor> parameters;
  Hyperparameters hyperparameters;
};

// All ranks must have the same options.
struct ShardedOptions {
  int stage = 1;  // 1 or 2
  // The sizes of buckets: parameters that are gathered together, and in stage 2 gradients that
  // travel together.
  size_t first_bucket_bytes = 1 << 20;
  size_t bucket_bytes = 25 << 20;
  // Keeps states in this PC's memory instead of the GPU's, and takes the step there. It changes
  // nothing for parameters on the CPU.
  bool offload = false;
};

// Must be used from one thread. Step and ClipGradNorm are collectives, which all ranks must call
// alike. They throw CollectiveError.
//
// A parameter for which no rank has a gradient is left alone, and its step is not counted.
// Parameters may be of any floating-point type on any device. Their states are of the same type, as
// in torch.
class ShardedOptimizer {
 public:
  // `groups` must have each parameter once, and must be the same on all ranks. A tensor with
  // several names counts once, and parameters that require no gradient are ignored. Parameters must
  // keep their memory from now on. Throws std::invalid_argument, on all ranks, that says what
  // differs or is not possible: parameters that are not leaves, not contiguous or not
  // floating-point, or are in two groups.
  ShardedOptimizer(Algorithm algorithm, std::vector<ParameterGroup> groups,
                   std::shared_ptr<Communicator> group, const ShardedOptions& options = {});
  ~ShardedOptimizer();
  ShardedOptimizer(const ShardedOptimizer&) = delete;
  ShardedOptimizer& operator=(const ShardedOptimizer&) = delete;

  // For DataParallelOptions::shard. Null in stage 1.
  const std::shared_ptr<GradientShard>& shard() const { return shard_; }

  Algorithm algorithm() const { return algorithm_; }
  size_t groups() const { return hyperparameters_.size(); }
  Hyperparameters& hyperparameters(size_t group) { return hyperparameters_[group]; }

  // Must be called before each first pass of a step. No parameter has a gradient afterwards.
  void ZeroGrad();

  // Returns the norm of the gradients of all parameters of all groups, the same number on all
  // ranks. If it is larger than `max_norm`, gradients are scaled to that. A norm that is not finite
  // changes nothing, and the caller must decide what to do. In stage 1 only this rank's slices of
  // .grad are scaled.
  double ClipGradNorm(double max_norm);

  // Returns the existing gradients of this rank's slices, in place, for example to unscale them.
  // Together the ranks have all gradients, each once.
  std::vector<at::Tensor> OwnGradients();

  // Throws std::invalid_argument, before anything is changed, if hyperparameters are impossible.
  void Step();

  // One state of one slice: elements [begin, begin + values.numel()) of a parameter's state,
  // row-major. "step" has one element, whatever the slice.
  struct StateSlice {
    std::string parameter, state;  // "fc.weight", "exp_avg"
    int64_t begin = 0;
    at::Tensor values;  // 1-dimensional, on the device of the states, in the same memory
  };
  // Returns this rank's states, of parameters that have been stepped. Together the ranks have the
  // optimizer's whole state, whatever the number of ranks.
  std::vector<StateSlice> States() const;

  // Sets this rank's states to what `read` gives. `read` fills `wanted.values` (on the CPU), and
  // returns whether there is such a state. A slice without a saved "step" has never been stepped.
  // Throws what `read` throws, and std::invalid_argument if some states of a slice are missing.
  void LoadStates(const std::function<bool(StateSlice& wanted)>& read);

  // Returns whether States() is the whole state, which is so in a group of one rank.
  bool whole() const { return group_->size() == 1; }

  // Returns the bytes of this rank's states. With S state tensors (momentum 1, Adam 2) and N ranks,
  // that is at most the sum over buckets of S x (elements / N, rounded up) x element size, and 4
  // for each slice.
  size_t StateBytes() const;

 private:
  struct Slice;   // one that this rank has
  struct Shard;   // the slices of one bucket
  struct Gather;  // a bucket's parameters under way

  std::optional<std::string> Fault() const;
  void CheckAgreement() const;
  void MakeShards();
  size_t StatesOfEach() const;
  void MakeStates(Shard* shard);
  at::Tensor OwnGradient(size_t bucket, size_t slice);
  void CheckReduced() const;
  void StepShard(size_t bucket);
  void StepSgd(const Hyperparameters& now, const std::vector<Slice*>& slices,
               const std::vector<at::Tensor>& gradients);
  void StepAdam(const Hyperparameters& now, const std::vector<Slice*>& slices,
                const std::vector<at::Tensor>& gradients);
  Gather BeginGather(size_t bucket);
  void EndGather(Gather gather);

  const Algorithm algorithm_;
  const std::shared_ptr<Communicator> group_;
  const ShardedOptions options_;
  std::vector<Hyperparameters> hyperparameters_;
  std::vector<NamedTensor> parameters_;  // those of all groups
  std::vector<size_t> group_of_;         // by parameter
  std::vector<at::Tensor> flat_;         // the parameters as 1-dimensional, in the same memory
  std::vector<ShardBucket> plan_;
  std::shared_ptr<GradientShard> shard_;
  std::vector<Shard> shards_;  // by bucket
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_SHARDED_SHARDED_OPTIMIZER_H_
