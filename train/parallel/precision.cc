#include "train/parallel/precision.h"

#include <ATen/Functions.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>

#include <map>

namespace hpc::train {

Autocast::Autocast(Precision precision, at::DeviceType device)
    : device_(device),
      enabled_(precision != Precision::kFp32),
      before_(at::autocast::is_autocast_enabled(device)),
      type_before_(at::autocast::get_autocast_dtype(device)) {
  if (!enabled_) return;
  at::autocast::set_autocast_enabled(device_, true);
  at::autocast::set_autocast_dtype(device_,
                                   precision == Precision::kBf16 ? at::kBFloat16 : at::kHalf);
  at::autocast::increment_nesting();
}

Autocast::~Autocast() {
  if (!enabled_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, before_);
  at::autocast::set_autocast_dtype(device_, type_before_);
}

bool MultiplyGradients(const std::vector<at::Tensor>& gradients, double factor) {
  at::NoGradGuard no_grad;
  std::map<std::pair<at::ScalarType, std::string>, std::vector<at::Tensor>> kinds;
  for (const at::Tensor& gradient : gradients) {
    if (!gradient.defined()) continue;
    kinds[{gradient.scalar_type(), gradient.device().str()}].push_back(gradient);
  }
  bool finite = true;
  for (auto& [kind, alike] : kinds) {
    const auto options = at::TensorOptions(at::kFloat).device(alike[0].device());
    at::Tensor found = at::zeros({1}, options);
    at::_amp_foreach_non_finite_check_and_unscale_(alike, found, at::full({1}, factor, options));
    finite = finite && found.item<float>() == 0;
  }
  return finite;
}

LossScaler::LossScaler(std::shared_ptr<Communicator> group, const LossScalerOptions& options)
    : group_(std::move(group)), options_(options), scale_(options.initial) {}

at::Tensor LossScaler::Scale(const at::Tensor& loss) const { return at::mul(loss, scale_); }

bool LossScaler::Unscale(const std::vector<at::Tensor>& gradients) {
  const bool finite = MultiplyGradients(gradients, 1 / scale_);
  at::Tensor bad = at::full({1}, finite ? 0 : 1, at::kInt);
  group_->AllReduce(bad, ReduceOp::kMax, {"gradients that are not finite", {}})->Wait();
  if (bad.item<int>() != 0) {
    scale_ *= options_.backoff;
    good_steps_ = 0;
    return false;
  }
  if (++good_steps_ == options_.growth_interval) {
    scale_ *= options_.growth;
    good_steps_ = 0;
  }
  return true;
}

void LossScaler::Restore(double scale, int good_steps) {
  scale_ = scale;
  good_steps_ = good_steps;
}

}  // namespace hpc::train
