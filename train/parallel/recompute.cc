#include "train/parallel/recompute.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <mutex>
#include <optional>

namespace hpc::train {
namespace {

// Returns the state of one device's default generator.
at::Tensor StateOf(at::Generator generator) {
  std::lock_guard lock(generator.mutex());
  return generator.get_state();
}
void SetState(at::Generator generator, const at::Tensor& state) {
  std::lock_guard lock(generator.mutex());
  generator.set_state(state);
}

// Keeps the state of the generators, which decides the random numbers that come next.
struct RandomState {
  explicit RandomState(const at::Device& device)
      : cpu(StateOf(at::globalContext().defaultGenerator(at::kCPU))) {
    if (device.is_cpu()) return;
    here = device;
    other = StateOf(at::globalContext().defaultGenerator(device));
  }
  void Restore() const {
    SetState(at::globalContext().defaultGenerator(at::kCPU), cpu);
    if (here) SetState(at::globalContext().defaultGenerator(*here), other);
  }

  at::Tensor cpu, other;
  std::optional<at::Device> here;  // unset for a CPU
};

struct AutocastState {
  explicit AutocastState(at::DeviceType of)
      : device(of),
        enabled(at::autocast::is_autocast_enabled(of)),
        type(at::autocast::get_autocast_dtype(of)) {}
  void Restore() const {
    at::autocast::set_autocast_enabled(device, enabled);
    at::autocast::set_autocast_dtype(device, type);
  }

  at::DeviceType device;
  bool enabled;
  at::ScalarType type;
};

struct Kept : torch::CustomClassHolder {
  Kept(std::function<at::Tensor(const at::Tensor&)> what, const at::Device& device)
      : part(std::move(what)), random(device), autocast(device.type()) {}
  const std::function<at::Tensor(const at::Tensor&)> part;
  const RandomState random;
  const AutocastState autocast;
};

struct Recomputed : torch::autograd::Function<Recomputed> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& input,
                            const at::Tensor& /*requires a gradient, which `input` may not*/,
                            const c10::intrusive_ptr<Kept>& kept) {
    context->save_for_backward({input});
    context->saved_data["kept"] = c10::IValue::make_capsule(kept);
    at::NoGradGuard no_grad;
    // Casts of parameters are not part of a graph here, so they must not be cached and used later.
    const bool cached = at::autocast::is_autocast_cache_enabled();
    at::autocast::set_autocast_cache_enabled(false);
    const at::Tensor output = kept->part(input);
    at::autocast::set_autocast_cache_enabled(cached);
    return output;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto kept =
        c10::static_intrusive_pointer_cast<Kept>(context->saved_data["kept"].toCapsule());
    const at::Tensor saved = context->get_saved_variables()[0];
    at::Tensor input = saved.detach();
    input.requires_grad_(saved.requires_grad());
    at::Tensor output;
    {
      at::AutoGradMode grad(true);
      const RandomState random(saved.device());
      const AutocastState autocast(saved.device().type());
      kept->random.Restore();
      kept->autocast.Restore();
      at::autocast::increment_nesting();
      output = kept->part(input);
      if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
      autocast.Restore();
      random.Restore();
    }
    torch::autograd::backward({output}, {gradients[0]});
    return {input.grad(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor Recompute(std::function<at::Tensor(const at::Tensor&)> part, const at::Tensor& input) {
  if (!at::GradMode::is_enabled()) return part(input);
  const at::Tensor trigger = at::zeros({1}, input.options().dtype(at::kFloat)).requires_grad_(true);
  return Recomputed::apply(input, trigger,
                           c10::make_intrusive<Kept>(std::move(part), input.device()));
}

}  // namespace hpc::train
