// Ranks that train alone for a while, and then agree (DiLoCo, Douillard et al., 2023): the network
// is used once in many steps.
//
//     model.reducer().set_synchronized(false);   // gradients stay on their rank
//     LocalSteps local(parameters, buffers, group, {.steps = 16});
//     for (...) {
//       ... forward, backward, optimizer.step() ...
//       local.Step(samples);
//     }
//     local.Synchronize();
//
// After each `steps` steps, with a = the parameters that all ranks had after the time before, and
// d = a - the mean of the ranks' parameters:
//
//     v = momentum x v + d,    a = a - lr x (d + momentum x v) (Nesterov),    all parameters = a.
//
// With lr 1 and momentum 0 it is the mean of the parameters. The optimizer of each rank keeps its
// own state.
#ifndef HPC_TRAIN_PARALLEL_LOCAL_STEPS_H_
#define HPC_TRAIN_PARALLEL_LOCAL_STEPS_H_

#include <memory>
#include <vector>

#include "train/buckets/compression.h"
#include "train/group/communicator.h"
#include "train/tensors/named_tensor.h"

namespace hpc::train {

// The same on all ranks.
struct LocalStepsOptions {
  int steps = 16;
  double lr = 0.7;
  double momentum =
      0.5;  // 0.9 in the paper, over hundreds of these steps; over a few it overshoots
  Compression compression = Compression::kNone;  // of the differences; PowerSGD is not for them
};

// Used from one thread. Takes twice the memory of the parameters, and once more while it sends.
class LocalSteps {
 public:
  // `parameters` and `buffers` are the same on all ranks now; both each once. Throws
  // std::invalid_argument.
  LocalSteps(std::vector<NamedTensor> parameters, std::vector<NamedTensor> buffers,
             std::shared_ptr<Communicator> group, const LocalStepsOptions& options);

  // After each step, on all ranks, also on one that had no samples. `weight` is this rank's share
  // of the mean: its samples, say. Whether it was the one after which parameters were made the
  // same; buffers of floating point are then the mean by the same weights, others those of the
  // first rank that has any. Throws CollectiveError, and std::invalid_argument if all weights since
  // the last time are 0.
  bool Step(double weight);

  // Makes them the same now, if there was a step since the last time: before a checkpoint, an
  // evaluation, or the end.
  void Synchronize();

  // What a checkpoint needs beside parameters and optimizer, right after they were made the same:
  // v of each parameter, named as it is. The same on all ranks.
  const std::vector<NamedTensor>& momenta() const { return momenta_; }
  // Begins anew from what parameters are now, with momenta() as they are: after both were loaded.
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
