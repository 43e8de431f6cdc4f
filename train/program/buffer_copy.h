// A copy of a model's buffers, for a step that may not count.
#ifndef HPC_TRAIN_PROGRAM_BUFFER_COPY_H_
#define HPC_TRAIN_PROGRAM_BUFFER_COPY_H_

#include <ATen/core/Tensor.h>

#include <vector>

#include "train/tensors/named_tensor.h"

namespace hpc::train {

// It is needed because a forward pass changes running means before anybody knows that its loss is
// NaN.
class BufferCopy {
 public:
  // Copies the buffers.
  explicit BufferCopy(const std::vector<NamedTensor>& buffers);

  // Copies them again, as they are now.
  void Renew();
  // Sets the buffers to what they were.
  void Restore() const;

 private:
  std::vector<at::Tensor> buffers_, copies_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_PROGRAM_BUFFER_COPY_H_
