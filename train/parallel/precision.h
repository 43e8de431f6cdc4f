// Computing in 16 bits where 32 are not needed.
#ifndef HPC_TRAIN_PARALLEL_PRECISION_H_
#define HPC_TRAIN_PARALLEL_PRECISION_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "train/group/communicator.h"

namespace hpc::train {

enum class Precision {
  kFp32,
  kBf16,  // autocast: no scaling needed
  kFp16,  // autocast with a scaled loss
};

// While it lives, on this thread, operations that gain from it compute in the narrow type, and
// those that need digits in float: torch.autocast. Around the forward pass and the loss, not around
// backward(). Parameters stay float.
class Autocast {
 public:
  Autocast(Precision precision, at::DeviceType device);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  const at::DeviceType device_;
  const bool enabled_, before_;
  const at::ScalarType type_before_;
};

struct LossScalerOptions {
  double initial = 65536;
  double growth = 2, backoff = 0.5;
  int growth_interval = 2000;  // steps without an infinity before it grows
};

// Scales the loss so that small gradients do not vanish in fp16, and finds the scale by itself:
// what becomes infinite leaves the step out on all ranks, and halves it.
//
//     scaler.Scale(loss).backward();
//     if (scaler.Unscale(gradients)) optimizer.step();
//
// All ranks have the same scale. Used from one thread.
class LossScaler {
 public:
  LossScaler(std::shared_ptr<Communicator> group, const LossScalerOptions& options = {});

  at::Tensor Scale(const at::Tensor& loss) const;

  // Divides gradients, all or this rank's part of them, by the scale, in place, and changes the
  // scale for the next step. Whether they are finite on all ranks: if not, the step is to be left
  // out. A collective of 4 bytes. Throws CollectiveError.
  bool Unscale(const std::vector<at::Tensor>& gradients);

  double scale() const { return scale_; }
  // Steps since it last grew, or since an infinity.
  int good_steps() const { return good_steps_; }
  // As they were when a checkpoint was written.
  void Restore(double scale, int good_steps);

 private:
  const std::shared_ptr<Communicator> group_;
  const LossScalerOptions options_;
  double scale_;
  int good_steps_ = 0;
};

// Multiplies them by `factor` in place; whether all of them are finite on this rank. Undefined ones
// are passed over.
bool MultiplyGradients(const std::vector<at::Tensor>& gradients, double factor);

}  // namespace hpc::train

#endif  // HPC_TRAIN_PARALLEL_PRECISION_H_
