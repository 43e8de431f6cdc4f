#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <sys/stat.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "train/tensors/tensor_text.h"
#include "train/tool/model.h"

namespace hpc::train {
namespace {

class ScriptModel : public Model {
 public:
  ScriptModel(std::string path, torch::jit::Module module)
      : path_(std::move(path)), module_(std::move(module)) {
    for (const torch::jit::Module& part : module_.modules()) {
      for (const auto& buffer : part.named_buffers(/*recurse=*/false)) {
        const size_t slot = part.type()->getAttributeSlot(buffer.name);
        at::Tensor tensor = buffer.value;
        if (!tensor.is_non_overlapping_and_dense()) {  // an expanded tensor cannot be written
          tensor = tensor.clone(at::MemoryFormat::Contiguous);
          part._ivalue()->setSlot(slot, tensor);
        }
        buffers_.push_back({part._ivalue(), slot, tensor});
      }
    }
  }

  at::Tensor Forward(const at::Tensor& input) override {
    // The optimized interpreter differentiates by itself, outside of autocast, and would then
    // multiply one type by another. So it is off for narrow types.
    const bool narrow = at::autocast::is_autocast_enabled(input.device().type());
    const torch::jit::GraphOptimizerEnabledGuard as_written(!narrow);
    c10::IValue output = module_.forward({input});
    if (output.isTensor()) return output.toTensor();
    throw std::runtime_error(absl::StrCat(path_, ": its forward returns a ", output.tagKind(),
                                          " where a tensor is needed"));
  }
  void SetTraining(bool training) override { module_.train(training); }
  void MoveTo(at::Device device) override { module_.to(device); }
  // A forward pass may assign a new tensor, as "self.mean = 0.9 * self.mean + 0.1 * x" does.
  void EndStep() override {
    const at::NoGradGuard no_grad;
    for (Buffer& one : buffers_) {
      const at::Tensor now = one.owner->getSlot(one.slot).toTensor();
      if (now.is_same(one.tensor)) continue;
      if (now.sizes() != one.tensor.sizes() || now.scalar_type() != one.tensor.scalar_type()) {
        throw std::runtime_error(absl::StrCat(path_, ": its forward makes of a buffer ",
                                              TensorText(one.tensor), " one of ", TensorText(now),
                                              ", which cannot be kept the same on all ranks"));
      }
      one.tensor.copy_(now);
      one.owner->setSlot(one.slot, one.tensor);
    }
  }
  std::vector<NamedTensor> Parameters() const override {
    return NamedOf(module_.named_parameters());
  }
  std::vector<NamedTensor> Buffers() const override { return NamedOf(module_.named_buffers()); }

 private:
  struct Buffer {
    torch::jit::ObjectPtr owner;
    size_t slot;
    at::Tensor tensor;  // the one that it had at first
  };

  template <typename List>
  static std::vector<NamedTensor> NamedOf(const List& list) {
    std::vector<NamedTensor> tensors;
    for (const auto& item : list) tensors.push_back({item.name, item.value});
    return tensors;
  }

  const std::string path_;
  torch::jit::Module module_;
  std::vector<Buffer> buffers_;
};

}  // namespace

std::unique_ptr<Model> LoadScriptModel(const std::string& path, at::Device device) {
  if (access(path.c_str(), R_OK) != 0) {
    throw std::runtime_error(
        absl::StrCat(path, ": ", errno == ENOENT ? "there is no such file" : std::strerror(errno)));
  }
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    throw std::runtime_error(path + ": it is no regular file");
  }
  torch::jit::Module module;
  try {
    module = torch::jit::load(path, device);
  } catch (const std::exception&) {  // its words about zip files help nobody
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
