// A parameter or buffer of a model.
#ifndef HPC_TRAIN_NAMED_TENSOR_H_
#define HPC_TRAIN_NAMED_TENSOR_H_

#include <ATen/core/Tensor.h>

#include <string>

namespace hpc::train {

struct NamedTensor {
  std::string name;  // "conv1.weight"
  at::Tensor tensor;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_NAMED_TENSOR_H_
