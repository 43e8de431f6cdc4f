// Lets ranks train alone for a while and then agree (DiLoCo, Douillard et al., 2023), so that the
// network is only used once in many steps.
//
//     model.reducer().set_synchronized(false);   // gradients stay on their rank
//     LocalSteps local(parameters, buffers, group, {.steps = 16});
//     for (...) {
//       ... forward, backward, optimizer.step() ...
//       local.Step(samples);
//     }
//     local.Synchronize();
//
// After each `steps` steps, let a be the parameters that all ranks had after the time before. Let d
// be a minus the mean of the ranks' parameters. Then:
//
//     v = momentum x v + d,    a = a - lr x (d + momentum x v) (Nesterov),    all parameters = a.
//
// With lr 1 and momentum 0 the result is the mean of the parameters. The optimizer of each rank
// keeps its own state.
#ifndef HPC_TRAIN_PARALLEL_LOCAL_STEPS_H_
#define HPC_TRAIN_PARALLEL_LOCAL_STEPS_H_

#include <memory>
#include <vector>

#include "train/buckets/compression.h"
#include "train/group/communicator.h"
#include "train/tensors/named_tensor.h"

namespace hpc::train {

// All ranks must have the same options.
struct LocalStepsOptions {
  int steps = 16;
  double lr = 0.7;
  double momentum =
      0.5;  // 0.9 in the paper, over hundreds of these steps; over a few steps it overshoots
  // Compresses the differences. PowerSGD cannot be used for them.
  Compression compression = Compression::kNone;
};

// Must be used from one thread. It takes twice the memory of the parameters, and once more while it
// sends.
class LocalSteps {
 public:
  // `parameters` and `buffers` must be the same on all ranks now, and have each tensor once. Throws
  // std::invalid_argument.
  LocalSteps(std::vector<NamedTensor> parameters, std::vector<NamedTensor> buffers,
             std::shared_ptr<Communicator> group, const LocalStepsOptions& options);

  // Must be called after each step, on all ranks, even on one that had no samples. `weight` is this
  // rank's share of the mean, such as its number of samples. Returns whether this was the step
  // after which parameters were made the same. Floating-point buffers are then the mean by the same
  // weights, and other buffers are those of the first rank that has any weight. Throws
  // CollectiveError, and std::invalid_argument if all weights since the last time are 0.
  bool Step(double weight);

  // Makes parameters the same now, if there was a step since the last time. It is for the time
  // before a checkpoint, an evaluation, or the end.
  void Synchronize();

  // Returns what a checkpoint needs beside parameters and optimizer: v of each parameter, under its
  // name. It is the same on all ranks right after parameters were made the same.
  const std::vector<NamedTensor>& momenta() const { return momenta_; }
  // Begins anew from the parameters as they are now, with momenta() as they are. Must be called
  // after both were loaded.
  void Reset();

 private:
  void OuterStep();

  const std::vector<NamedTensor> parameters_, buffers_;
  const std::shared_ptr<Communicator> group_;
  const LocalStepsOptions options_;
  std::vector<at::Tensor> anchors_;  // a
  std::vector<NamedTensor> momenta_;
  int steps_ = 0;
  double weight_ = 0;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_PARALLEL_LOCAL_STEPS_H_
