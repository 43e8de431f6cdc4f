// Computes in 16 bits where 32 are not needed.
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
  kBf16,  // autocast, which needs no scaling here
  kFp16,  // autocast with a scaled loss
};

// While it lives, operations on this thread that gain from it compute in the narrow type, and those
// that need precision in float, like torch.autocast. Put it around the forward pass and the loss,
// not around backward(). Parameters stay float.
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
  int growth_interval = 2000;  // after so many steps without an infinity the scale grows
};

// Scales the loss so that small gradients do not vanish in fp16, and finds the scale by itself. If
// a gradient becomes infinite, all ranks leave the step out, and the scale is halved.
//
//     scaler.Scale(loss).backward();
//     if (scaler.Unscale(gradients)) optimizer.step();
//
// All ranks have the same scale. Must be used from one thread.
class LossScaler {
 public:
  LossScaler(std::shared_ptr<Communicator> group, const LossScalerOptions& options = {});

  at::Tensor Scale(const at::Tensor& loss) const;

  // Divides gradients, all or this rank's part of them, by the scale, in place, and changes the
  // scale for the next step. Returns whether they are finite on all ranks; if not, the step must be
  // left out. A collective of 4 bytes. Throws CollectiveError.
  bool Unscale(const std::vector<at::Tensor>& gradients);

  double scale() const { return scale_; }
  // Returns the number of steps since the scale last grew, or since an infinity.
  int good_steps() const { return good_steps_; }
  // Sets both to what they were when a checkpoint was written.
  void Restore(double scale, int good_steps);

 private:
  const std::shared_ptr<Communicator> group_;
  const LossScalerOptions options_;
  double scale_;
  int good_steps_ = 0;
};

// Multiplies gradients by `factor` in place, and returns whether all of them are finite on this
// rank. Undefined ones are skipped.
bool MultiplyGradients(const std::vector<at::Tensor>& gradients, double factor);

}  // namespace hpc::train

#endif  // HPC_TRAIN_PARALLEL_PRECISION_H_
