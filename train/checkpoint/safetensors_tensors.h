// Converts between tensors and safetensors files (safetensors.h).
#ifndef HPC_TRAIN_CHECKPOINT_SAFETENSORS_TENSORS_H_
#define HPC_TRAIN_CHECKPOINT_SAFETENSORS_TENSORS_H_

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "train/checkpoint/safetensors.h"
#include "train/tensors/named_tensor.h"

namespace hpc::train {

// Returns "F32", for example. Throws SafetensorsError if the files have no such type.
std::string SafetensorsTypeOf(at::ScalarType type);
// Throws SafetensorsError if LibTorch has no such type.
at::ScalarType ScalarTypeOf(absl::string_view dtype);

// Returns a copy, on the CPU.
at::Tensor ReadTensor(const SafetensorsFile& file, const SafetensorsTensor& tensor);

// The future content of a file, as it was when this was made. It is a copy on the CPU, which
// another thread may write while training goes on.
class SafetensorsSnapshot {
 public:
  // Throws SafetensorsError: files have no such type, or a name occurs twice.
  explicit SafetensorsSnapshot(const std::vector<NamedTensor>& tensors,
                               std::map<std::string, std::string> metadata = {});

  // Returns the parts of the file, one after the other. They live as long as this.
  std::vector<absl::string_view> Pieces() const;

 private:
  SafetensorsHeader header_;
  std::string begin_;
  std::vector<at::Tensor> copies_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_CHECKPOINT_SAFETENSORS_TENSORS_H_
