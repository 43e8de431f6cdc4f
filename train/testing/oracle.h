// PyTorch's own DistributedDataParallel, to compare with: c10d::Reducer over Gloo.
#ifndef HPC_TRAIN_TESTING_ORACLE_H_
#define HPC_TRAIN_TESTING_ORACLE_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "train/net/launch_environment.h"

namespace hpc::train {

// Computes the mean of the ranks' gradients, without weights.
class Oracle {
 public:
  Oracle(const LaunchEnvironment& environment, std::vector<at::Tensor> parameters);
  ~Oracle();

  // Must be called around a forward pass whose backward pass reduces. Passes without these calls
  // accumulate.
  void BeforeForward();
  void AfterForward(const at::Tensor& output);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_TESTING_ORACLE_H_
