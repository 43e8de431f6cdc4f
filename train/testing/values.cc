#include "train/testing/values.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace hpc::train {

Values Flat(const std::vector<at::Tensor>& tensors) {
  Values values;
  for (const at::Tensor& one : tensors) {
    const at::Tensor flat = one.detach().to(at::kDouble).contiguous().view(-1);
    values.insert(values.end(), flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel());
  }
  return values;
}

double Difference(const Values& a, const Values& b) {
  if (a.size() != b.size() || a.empty()) return INFINITY;
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

}  // namespace hpc::train
