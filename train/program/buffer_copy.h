// What a model's buffers were, for a step that is not to count.
#ifndef HPC_TRAIN_PROGRAM_BUFFER_COPY_H_
#define HPC_TRAIN_PROGRAM_BUFFER_COPY_H_

#include <ATen/core/Tensor.h>

#include <vector>

#include "train/tensors/named_tensor.h"

namespace hpc::train {

// A forward pass has changed running means before anybody knows that its loss is NaN.
class BufferCopy {
 public:
  // Copies them.
  explicit BufferCopy(const std::vector<NamedTensor>& buffers);

  // Once more, as they are now.
  void Renew();
  // They become what they were.
  void Restore() const;

 private:
  std::vector<at::Tensor> buffers_, copies_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_PROGRAM_BUFFER_COPY_H_
