#include "train/program/buffer_copy.h"

#include <ATen/core/grad_mode.h>

namespace hpc::train {

BufferCopy::BufferCopy(const std::vector<NamedTensor>& buffers) {
  const at::NoGradGuard no_grad;
  for (const NamedTensor& one : EachOnce(buffers)) {
    buffers_.push_back(one.tensor);
    copies_.push_back(one.tensor.clone());
  }
}

void BufferCopy::Renew() {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < buffers_.size(); ++i) copies_[i].copy_(buffers_[i]);
}

void BufferCopy::Restore() const {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    at::Tensor buffer = buffers_[i];
    buffer.copy_(copies_[i]);
  }
}

}  // namespace hpc::train
