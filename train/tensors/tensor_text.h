// Describes a tensor in messages.
#ifndef HPC_TRAIN_TENSORS_TENSOR_TEXT_H_
#define HPC_TRAIN_TENSORS_TENSOR_TEXT_H_

#include <ATen/core/Tensor.h>

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace hpc::train {

// Returns "float[1, 1, 8, 8]", for example.
inline std::string TensorText(const at::Tensor& tensor) {
  return absl::StrCat(absl::AsciiStrToLower(c10::toString(tensor.scalar_type())), "[",
                      absl::StrJoin(tensor.sizes(), ", "), "]");
}

}  // namespace hpc::train

#endif  // HPC_TRAIN_TENSORS_TENSOR_TEXT_H_
