#include <ATen/autocast_mode.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "train/program/model.h"

namespace hpc::train {
namespace {

class ScriptModel : public Model {
 public:
  ScriptModel(std::string path, torch::jit::Module module)
      : path_(std::move(path)), module_(std::move(module)) {}

  at::Tensor Forward(const at::Tensor& input) override {
    // The interpreter differentiates what it has optimized by itself, outside of autocast, and then
    // multiplies one type by another.
    const bool narrow = at::autocast::is_autocast_enabled(input.device().type());
    const torch::jit::GraphOptimizerEnabledGuard as_written(!narrow);
    c10::IValue output = module_.forward({input});
    if (output.isTensor()) return output.toTensor();
    throw std::runtime_error(absl::StrCat(path_, ": its forward returns a ", output.tagKind(),
                                          " where a tensor is needed"));
  }
  void SetTraining(bool training) override { module_.train(training); }
  void MoveTo(at::Device device) override { module_.to(device); }
  std::vector<NamedTensor> Parameters() const override {
    return NamedOf(module_.named_parameters());
  }
  std::vector<NamedTensor> Buffers() const override { return NamedOf(module_.named_buffers()); }

 private:
  template <typename List>
  static std::vector<NamedTensor> NamedOf(const List& list) {
    std::vector<NamedTensor> tensors;
    for (const auto& item : list) tensors.push_back({item.name, item.value});
    return tensors;
  }

  const std::string path_;
  torch::jit::Module module_;
};

}  // namespace

std::unique_ptr<Model> LoadScriptModel(const std::string& path, at::Device device) {
  if (access(path.c_str(), R_OK) != 0) {
    throw std::runtime_error(
        absl::StrCat(path, ": ", errno == ENOENT ? "there is no such file" : std::strerror(errno)));
  }
  torch::jit::Module module;
  try {
    module = torch::jit::load(path, device);
  } catch (const std::exception&) {  // says of zip files what helps nobody
    throw std::runtime_error(
        absl::StrCat(path,
                     ": it is no TorchScript module: write one with "
                     "torch.jit.script(net).save(\"net.pt\"); a state_dict is none"));
  }
  const auto method = module.find_method("forward");
  if (!method) throw std::runtime_error(absl::StrCat(path, ": it has no forward"));
  size_t needed = 0;
  for (const c10::Argument& argument : method->function().getSchema().arguments()) {
    if (!argument.default_value()) ++needed;
  }
  if (needed != 2) {  // self, input
    throw std::runtime_error(absl::StrCat(path, ": its forward takes ",
                                          needed == 0 ? 0 : needed - 1,
                                          " values where one tensor is given"));
  }
  auto model = std::make_unique<ScriptModel>(path, std::move(module));
  bool trainable = false;
  for (const NamedTensor& one : model->Parameters()) {
    trainable = trainable || one.tensor.requires_grad();
  }
  if (!trainable) throw std::runtime_error(absl::StrCat(path, ": it has no parameter to train"));
  return model;
}

}  // namespace hpc::train
