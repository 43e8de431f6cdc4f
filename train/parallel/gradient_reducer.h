// Averages the gradients of all ranks while backward() still runs.
//
// Gradients travel in buckets. The buckets are filled in the order in which gradients became ready
// in the first backward pass (of rank 0, so that all ranks fill them alike). The all-reduce of a
// bucket begins as soon as it and all before it are full. backward() returns when the last one has
// ended. It is not defined at which moment before that .grad of a parameter becomes the mean.
//
// After a synchronized backward pass the gradient of each parameter has the same bits on all ranks:
//
//     sum of weight(r) x .grad of rank r before the reduction  /  sum of weight(r),
//
// where weights are 1 unless ReducerOptions::weighted. The sum includes what accumulated in .grad
// before, in passes without synchronization. A parameter without .grad on some ranks counts as zero
// there; one without on all ranks (unused) stays without. A parameter that is used in several
// places is one parameter. Backward passes inside of backward passes (recomputed activations)
// belong to the outer one.
//
// A single rank keeps its gradients as they are, without buckets, unless they are compressed.
#ifndef HPC_TRAIN_PARALLEL_GRADIENT_REDUCER_H_
#define HPC_TRAIN_PARALLEL_GRADIENT_REDUCER_H_

#include <memory>
#include <string>
#include <vector>

#include "train/buckets/compression.h"
#include "train/group/communicator.h"
#include "train/sharded/gradient_shard.h"
#include "train/tensors/named_tensor.h"

namespace hpc::train {

// All ranks must have the same options.
struct ReducerOptions {
  size_t first_bucket_bytes = 1 << 20;
  size_t bucket_bytes = 25 << 20;  // at most 10 MiB with PowerSGD
  // Gives ranks weights, for example because a slower PC gets a smaller batch. It costs one
  // all-reduce of 8 bytes for each rank in each step, during the forward pass.
  bool weighted = false;
  // If false, communication only begins when the backward pass has ended. That is for models that
  // recompute one parameter's uses a number of times that changes from step to step.
  bool overlap = true;
  // How gradients are compressed on their way (compression.h). The mean is then only about the one
  // above, but it still has the same bits on all ranks.
  CompressionOptions compression;
};

// Must be used from one thread. The hooks that it sets run in threads of autograd. Errors of the
// group (CollectiveError) come out of backward().
class GradientReducer {
 public:
  // `parameters` must be dense leaves that require a gradient, each once, with the same types and
  // shapes on all ranks in the same order. Sets their post-accumulate-gradient hook; a tensor has
  // only one.
  //
  // With a shard each rank gets the mean of its own slices, in the shard, and .grad is undefined
  // after backward(). The buckets are the shard's then, whatever the options say. Throws
  // std::invalid_argument if the shard's parameters are other ones, or if there is compression.
  GradientReducer(std::vector<NamedTensor> parameters, std::shared_ptr<Communicator> group,
                  const ReducerOptions& options = {},
                  const std::shared_ptr<GradientShard>& shard = nullptr);
  ~GradientReducer();  // removes its hooks
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  // Says whether the backward passes that begin from now on reduce. Otherwise they accumulate on
  // this rank.
  void set_synchronized(bool synchronized);
  bool synchronized() const;

  // Sets this rank's weight from the next PrepareForward on, for example the number of samples in
  // its batch. It must be finite and not negative, else std::invalid_argument is thrown. 0 leaves
  // this rank's gradients out.
  void set_weight(double weight);

  // Must be called on all ranks before each forward pass whose backward pass reduces. If all ranks
  // have weight 0, that backward pass throws std::invalid_argument.
  void PrepareForward();

  // Must be called after each forward pass with the outputs that the loss is made of. When
  // backward() reaches one of them, the pass begins for the reducer.
  void WatchOutputs(const std::vector<at::Tensor>& outputs);

  // Reduces what .grad holds now, instead of at the end of a backward pass. It is for a rank that
  // has no batch (weight 0) while others have one. Must be called after PrepareForward.
  void SynchronizeGradients();

  // Returns the first rank that had a batch in the last backward pass that reduced; without weights
  // rank 0.
  int first_with_batch() const;

  // Returns the indices of parameters in the order of reduction; none where there are no buckets.
  std::vector<std::vector<size_t>> buckets() const;

  class State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_PARALLEL_GRADIENT_REDUCER_H_
