// SGD, Adam and AdamW, whose states the ranks share out among themselves (ZeRO), on LibTorch's
// fused kernels. With one rank: a plain optimizer, with nothing copied or sent.
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
// Stage 1: gradients are all-reduced, as without it; each rank has the states of its own slices
// (shard_plan.h), steps those, and all ranks gather the parameters. Stage 2: gradients are
// reduce-scattered into the slices' owners while the backward pass runs, and no rank keeps the
// others'. What comes out is what the same optimizer makes on every rank, but for the order of
// sums.
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

// As torch.optim has them, but that no weight decays unless it is said. All of them may change
// between steps, on all ranks alike.
struct Hyperparameters {
  double lr = 1e-3;
  double weight_decay = 0;
  bool maximize = false;
  // SGD
  double momentum = 0, dampening = 0;
  bool nesterov = false;
  // Adam, AdamW
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
};

struct ParameterGroup {
  std::vector<NamedTensor> parameters;
  Hyperparameters hyperparameters;
};

// The same on all ranks.
struct ShardedOptions {
  int stage = 1;  // or 2
  // Of parameters that are gathered together, and in stage 2 of gradients that travel together.
  size_t first_bucket_bytes = 1 << 20;
  size_t bucket_bytes = 25 << 20;
  // States are in this PC's memory instead of the GPU's, and the step is taken there. For
  // parameters on the CPU it changes nothing.
  bool offload = false;
};

// Used from one thread. Step and ClipGradNorm are collectives: all ranks call them alike; they
// throw CollectiveError.
//
// A parameter that no rank has a gradient of is left alone, and its step is not counted. Parameters
// of any floating-point type on any device; their states are of the same type, as torch's are.
class ShardedOptimizer {
 public:
  // `groups` have each parameter once (names that share a tensor count once, those that require no
  // gradient not at all), the same on all ranks. Parameters keep their memory from now on. Throws
  // std::invalid_argument, on all ranks, that says what differs or is not possible: parameters that
  // are not leaves, not contiguous or not floating-point, or in two groups.
  ShardedOptimizer(Algorithm algorithm, std::vector<ParameterGroup> groups,
                   std::shared_ptr<Communicator> group, const ShardedOptions& options = {});
  ~ShardedOptimizer();
  ShardedOptimizer(const ShardedOptimizer&) = delete;
  ShardedOptimizer& operator=(const ShardedOptimizer&) = delete;

  // For DataParallelOptions::shard. None in stage 1.
  const std::shared_ptr<GradientShard>& shard() const { return shard_; }

  Algorithm algorithm() const { return algorithm_; }
  size_t groups() const { return hyperparameters_.size(); }
  Hyperparameters& hyperparameters(size_t group) { return hyperparameters_[group]; }

  // Before each first pass of a step: no parameter has a gradient then.
  void ZeroGrad();

  // The norm of the gradients of all parameters of all groups, the same number on all ranks; they
  // are scaled to `max_norm` if it is larger. A norm that is not finite changes nothing, and what
  // then is the caller's to say. In stage 1 this rank's slices of .grad alone are scaled.
  double ClipGradNorm(double max_norm);

  // The gradients of this rank's slices that there are, in place: to unscale them, say. All ranks'
  // together are all gradients, each once.
  std::vector<at::Tensor> OwnGradients();

  // Throws std::invalid_argument, before anything is changed, if hyperparameters are impossible.
  void Step();

  // One state of one slice: elements [begin, begin + values.numel()) of a parameter's, row-major.
  // "step" has one element, whatever the slice.
  struct StateSlice {
    std::string parameter, state;  // "fc.weight", "exp_avg"
    int64_t begin = 0;
    at::Tensor values;  // 1-dimensional, on the device of the states; shares memory
  };
  // This rank's: of parameters that were stepped by now. Those of all ranks together are the
  // optimizer's whole state, whatever the number of ranks.
  std::vector<StateSlice> States() const;

  // Sets this rank's states to what `read` gives, which fills `wanted.values` (on the CPU) and
  // returns whether there is such a state; where there is none of a slice's step, it has not been
  // stepped. Throws what `read` throws, and std::invalid_argument if states of a slice are missing.
  void LoadStates(const std::function<bool(StateSlice& wanted)>& read);

  // Whether States() is the whole state: of a group of one rank.
  bool whole() const { return group_->size() == 1; }

  // Of this rank's states. With S state tensors (momentum 1, Adam 2) and N ranks: at most the sum
  // over buckets of S x (elements / N, rounded up) x element size, and 4 for each slice.
  size_t StateBytes() const;

 private:
  struct Slice;   // of this rank
  struct Shard;   // slices of one bucket
  struct Gather;  // parameters of a bucket under way

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
  std::vector<NamedTensor> parameters_;  // of all groups
  std::vector<size_t> group_of_;         // by parameter
  std::vector<at::Tensor> flat_;         // parameters as 1-dimensional, the same memory
  std::vector<ShardBucket> plan_;
  std::shared_ptr<GradientShard> shard_;
  std::vector<Shard> shards_;  // by bucket
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_SHARDED_SHARDED_OPTIMIZER_H_
