// A parameter or buffer of a model.
#ifndef HPC_TRAIN_TENSORS_NAMED_TENSOR_H_
#define HPC_TRAIN_TENSORS_NAMED_TENSOR_H_

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace hpc::train {

struct NamedTensor {
  std::string name;  // "conv1.weight"
  at::Tensor tensor;
};

// Returns the tensors without those that are undefined. A tensor that has several names keeps only
// its first.
std::vector<NamedTensor> EachOnce(std::vector<NamedTensor> tensors);

// Takes what a torch::nn module's named_parameters() and named_buffers() return.
template <typename Dict>
std::vector<NamedTensor> Named(const Dict& dict) {
  std::vector<NamedTensor> tensors;
  for (const auto& item : dict) tensors.push_back({item.key(), item.value()});
  return tensors;
}

}  // namespace hpc::train

#endif  // HPC_TRAIN_TENSORS_NAMED_TENSOR_H_
