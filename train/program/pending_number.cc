#include "train/program/pending_number.h"

#include <ATen/DeviceAccelerator.h>
#include <ATen/Functions.h>

namespace hpc::train {

PendingNumber::PendingNumber(const at::Tensor& tensor) : here_(tensor.detach()) {
  if (tensor.is_cpu()) return;
  const at::Tensor there = here_;
  here_ = at::empty(there.sizes(), there.options().device(at::kCPU).pinned_memory(true));
  here_.copy_(there, /*non_blocking=*/true);
  come_.emplace(there.device().type());
  come_->record(at::accelerator::getCurrentStream(there.device().index()));
}

double PendingNumber::Value() const {
  if (come_) come_->synchronize();
  return here_.item<double>();
}

}  // namespace hpc::train
