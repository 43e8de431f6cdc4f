// Makes the gradients of all ranks their mean while backward() still runs.
//
// Gradients travel in buckets, which are filled in the order in which gradients became ready in the
// first backward pass (of rank 0, so that all ranks fill them alike). As soon as a bucket and all
// before it are full, its all-reduce begins; backward() returns when the last has ended. When .grad
// of a parameter becomes the mean, before that, is not said.
//
// After a synchronized backward pass the gradient of each parameter is, on all ranks the same bits,
//
//     sum of weight(r) x .grad of rank r before the reduction  /  sum of weight(r),
//
// where weights are 1 unless ReducerOptions::weighted. What accumulated in .grad before, in passes
// without synchronization, is part of it. A parameter without .grad on some ranks counts as zero
// there; one without on all ranks (unused) stays without. A parameter that is used in several
// places is one parameter, and backward passes inside of backward passes (recomputed activations)
// belong to the outer one.
//
// One rank alone is left its gradients as they are, without buckets, unless they are compressed.
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

// The same on all ranks.
struct ReducerOptions {
  size_t first_bucket_bytes = 1 << 20;
  size_t bucket_bytes = 25 << 20;  // with PowerSGD at most 10 MiB
  // Ranks have weights, as where a slower PC gets a smaller batch. Costs one all-reduce of 8 bytes
  // a rank a step, during the forward pass.
  bool weighted = false;
  // Without it communication begins when the backward pass has ended. For models that recompute one
  // parameter's uses a number of times that changes from step to step.
  bool overlap = true;
  // What is sent of the gradients (compression.h). The mean is about what is said above, then, and
  // still the same bits on all ranks.
  CompressionOptions compression;
};

// Used from one thread; the hooks that it sets run in those of autograd. Errors of the group
// (CollectiveError) come out of backward().
class GradientReducer {
 public:
  // `parameters` are leaves that require a gradient, dense, each once, of the same types and shapes
  // on all ranks in the same order. Sets their post-accumulate-gradient hook, which is one a
  // tensor.
  //
  // With a shard each rank gets the mean of its own slices, in the shard, and .grad is undefined
  // after backward(). Buckets are the shard's then, whatever the options say. Throws
  // std::invalid_argument unless the shard's parameters are these, and if there is compression.
  GradientReducer(std::vector<NamedTensor> parameters, std::shared_ptr<Communicator> group,
                  const ReducerOptions& options = {},
                  const std::shared_ptr<GradientShard>& shard = nullptr);
  ~GradientReducer();  // takes its hooks away
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  // Whether the backward passes that begin from now on reduce. Else they accumulate on this rank.
  void set_synchronized(bool synchronized);
  bool synchronized() const;

  // Of this rank, from the next PrepareForward on: the number of samples in its batch, say. Finite
  // and not negative, else std::invalid_argument; 0 leaves this rank's gradients out.
  void set_weight(double weight);

  // Before each forward pass whose backward pass reduces, on all ranks. If they all have weight 0,
  // that backward pass throws std::invalid_argument.
  void PrepareForward();

  // After each forward pass, with the outputs that the loss is made of: where backward() passes one
  // of them it begins.
  void WatchOutputs(const std::vector<at::Tensor>& outputs);

  // Reduces what .grad holds now, instead of at the end of a backward pass: for a rank that has no
  // batch (weight 0) while others have. After PrepareForward.
  void SynchronizeGradients();

  // The first rank that had a batch in the last backward pass that reduced; without weights rank 0.
  int first_with_batch() const;

  // Indices of parameters, in the order of reduction; none where there are no buckets.
  std::vector<std::vector<size_t>> buckets() const;

  class State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_PARALLEL_GRADIENT_REDUCER_H_
