#include "train/buckets/coalesced.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

namespace hpc::train {
namespace {

// Groups the tensors that travel together, in their order.
std::vector<std::vector<at::Tensor>> Together(const std::vector<at::Tensor>& tensors,
                                              size_t bytes) {
  std::vector<std::vector<at::Tensor>> batches;
  std::vector<bool> taken(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (taken[i]) continue;
    size_t size = 0;
    batches.emplace_back();
    for (size_t j = i; j < tensors.size() && size < bytes; ++j) {
      if (taken[j] || tensors[j].scalar_type() != tensors[i].scalar_type() ||
          tensors[j].device() != tensors[i].device()) {
        continue;
      }
      taken[j] = true;
      batches.back().push_back(tensors[j]);
      size += tensors[j].nbytes();
    }
  }
  return batches;
}

}  // namespace

void BroadcastCoalesced(Communicator& group, const std::vector<at::Tensor>& tensors, int root,
                        const std::string& name, size_t bytes) {
  if (group.size() == 1) return;
  at::NoGradGuard no_grad;
  const std::vector<std::vector<at::Tensor>> batches = Together(tensors, bytes);
  std::vector<at::Tensor> flat;
  std::vector<PendingPtr> pending;
  for (const auto& batch : batches) {
    std::vector<at::Tensor> parts;
    for (const at::Tensor& one : batch) parts.push_back(one.reshape(-1));
    flat.push_back(at::cat(parts));
    pending.push_back(group.Broadcast(flat.back(), root, {name, {}}));
  }
  for (size_t i = 0; i < batches.size(); ++i) {
    pending[i]->Wait();
    int64_t offset = 0;
    for (at::Tensor one : batches[i]) {
      one.copy_(flat[i].narrow(0, offset, one.numel()).view(one.sizes()));
      offset += one.numel();
    }
  }
}

}  // namespace hpc::train
