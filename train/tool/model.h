// A model as the trainer sees it.
#ifndef HPC_TRAIN_TOOL_MODEL_H_
#define HPC_TRAIN_TOOL_MODEL_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "train/tensors/named_tensor.h"

namespace hpc::train {

class Model {
 public:
  virtual ~Model() = default;

  virtual at::Tensor Forward(const at::Tensor& input) = 0;
  virtual void SetTraining(bool training) = 0;
  virtual void MoveTo(at::Device device) = 0;
  // Is called after a step, when nothing of its graph is needed any more. If Forward has replaced a
  // tensor of Buffers(), the new value is copied into that tensor. torch::nn modules change theirs
  // in place.
  virtual void EndStep() {}
  // A tensor may occur under several names.
  virtual std::vector<NamedTensor> Parameters() const = 0;
  virtual std::vector<NamedTensor> Buffers() const = 0;
};

// Wraps any torch::nn module whose forward takes a tensor and returns one: a TORCH_MODULE such as
// torch::nn::Sequential, or a std::shared_ptr of its class.
template <typename Module>
class ModuleModel : public Model {
 public:
  explicit ModuleModel(Module module) : module_(std::move(module)) {}

  at::Tensor Forward(const at::Tensor& input) override { return module_->forward(input); }
  void SetTraining(bool training) override { module_->train(training); }
  void MoveTo(at::Device device) override { module_->to(device); }
  std::vector<NamedTensor> Parameters() const override {
    return Named(module_->named_parameters());
  }
  std::vector<NamedTensor> Buffers() const override { return Named(module_->named_buffers()); }

 private:
  Module module_;
};

template <typename Module>
std::unique_ptr<Model> MakeModuleModel(Module module) {
  return std::make_unique<ModuleModel<Module>>(std::move(module));
}

// Loads a module that Python saved with torch.jit.script(net).save("net.pt"), or torch.jit.trace,
// on whatever device, and puts it on `device`. Its parameters start with the values in the file.
// Throws std::runtime_error that names the file: there is none, it is not TorchScript, its forward
// takes more than a tensor or returns none, or it has nothing to train.
std::unique_ptr<Model> LoadScriptModel(const std::string& path, at::Device device);

}  // namespace hpc::train

#endif  // HPC_TRAIN_TOOL_MODEL_H_
