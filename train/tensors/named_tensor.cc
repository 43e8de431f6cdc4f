#include "train/tensors/named_tensor.h"

#include <set>

namespace hpc::train {

std::vector<NamedTensor> EachOnce(std::vector<NamedTensor> tensors) {
  std::vector<NamedTensor> kept;
  std::set<const void*> known;
  for (NamedTensor& one : tensors) {
    if (one.tensor.defined() && known.insert(one.tensor.unsafeGetTensorImpl()).second) {
      kept.push_back(std::move(one));
    }
  }
  return kept;
}

}  // namespace hpc::train
