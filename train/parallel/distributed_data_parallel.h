// Trains one model on all ranks, each with its own part of every batch:
//
//     Net net;                                                  // any torch::nn module
//     auto group = hpc::train::MakeGlooCommunicator(hpc::train::ReadLaunchEnvironment());
//     hpc::train::DistributedDataParallel<Net> model(net, group);
//     torch::optim::SGD optimizer(net->parameters(), 0.1);
//     for (...) {
//       optimizer.zero_grad();
//       loss_of(model(batch)).backward();  // gradients are the mean of all ranks
//       optimizer.step();                  // so all of them take the same step
//     }
//
// gradient_reducer.h says what gradients are after backward(), with weights, accumulation, and
// unused and shared parameters.
#ifndef HPC_TRAIN_PARALLEL_DISTRIBUTED_DATA_PARALLEL_H_
#define HPC_TRAIN_PARALLEL_DISTRIBUTED_DATA_PARALLEL_H_

#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "train/parallel/replica.h"

namespace hpc::train {

// Finds the tensors in what a model returns. If a model returns a type of its own, declare another
// overload beside that type.
inline void AppendTensors(const at::Tensor& output, std::vector<at::Tensor>* tensors) {
  tensors->push_back(output);
}
// Finds the tensors in containers of each other, at any depth.
template <typename T>
void AppendTensors(const std::vector<T>& outputs, std::vector<at::Tensor>* tensors);
template <typename T>
void AppendTensors(const std::optional<T>& output, std::vector<at::Tensor>* tensors);
template <typename... T>
void AppendTensors(const std::tuple<T...>& outputs, std::vector<at::Tensor>* tensors);
template <typename A, typename B>
void AppendTensors(const std::pair<A, B>& outputs, std::vector<at::Tensor>* tensors);

template <typename T>
void AppendTensors(const std::vector<T>& outputs, std::vector<at::Tensor>* tensors) {
  for (const T& output : outputs) AppendTensors(output, tensors);
}
template <typename T>
void AppendTensors(const std::optional<T>& output, std::vector<at::Tensor>* tensors) {
  if (output) AppendTensors(*output, tensors);
}
template <typename... T>
void AppendTensors(const std::tuple<T...>& outputs, std::vector<at::Tensor>* tensors) {
  std::apply([&](const T&... output) { (AppendTensors(output, tensors), ...); }, outputs);
}
template <typename A, typename B>
void AppendTensors(const std::pair<A, B>& outputs, std::vector<at::Tensor>* tensors) {
  AppendTensors(outputs.first, tensors);
  AppendTensors(outputs.second, tensors);
}

// `Module` holds a torch::nn module: it is a TORCH_MODULE such as torch::nn::Linear, or a
// std::shared_ptr of its class. Must be used from one thread. These are collectives, which all
// ranks must do alike, except within no_sync(): constructing, forward in training mode while
// gradients are recorded, and backward. Evaluation is not one: one rank may do it alone, in the
// module's eval() mode.
//
// Throws std::invalid_argument where ranks differ (replica.h) and CollectiveError (communicator.h),
// which backward() passes on.
template <typename Module>
class DistributedDataParallel {
 public:
  DistributedDataParallel(Module module, std::shared_ptr<Communicator> group,
                          const DataParallelOptions& options = {})
      : module_(std::move(module)),
        replica_(Named(module_->named_parameters()), Named(module_->named_buffers()),
                 std::move(group), options) {}

  template <typename... Args>
  auto forward(Args&&... args) {
    replica_.BeforeForward(module_->is_training());
    auto output = module_->forward(std::forward<Args>(args)...);
    std::vector<at::Tensor> tensors;
    AppendTensors(output, &tensors);
    replica_.AfterForward(tensors);
    return output;
  }
  template <typename... Args>
  auto operator()(Args&&... args) {
    return forward(std::forward<Args>(args)...);
  }

  // While this lives, forward and backward passes accumulate gradients on this rank and send
  // nothing.
  class NoSync {
   public:
    explicit NoSync(GradientReducer& reducer) : reducer_(reducer), before_(reducer.synchronized()) {
      reducer_.set_synchronized(false);
    }
    ~NoSync() { reducer_.set_synchronized(before_); }
    NoSync(const NoSync&) = delete;
    NoSync& operator=(const NoSync&) = delete;

   private:
    GradientReducer& reducer_;
    const bool before_;
  };
  [[nodiscard]] NoSync no_sync() { return NoSync(replica_.reducer()); }

  // Must be called before each forward pass, if ranks have weights. It tells the number of samples
  // in this rank's batch.
  void set_weight(double weight) { replica_.reducer().set_weight(weight); }

  // Replaces forward and backward on a rank that has no batch while others have one; call
  // set_weight(0) before it. Called on all ranks, it reduces what they have accumulated.
  void SynchronizeGradients() { replica_.SynchronizeGradients(); }

  // Must be called on all ranks before the model is saved or evaluated. It makes buffers the same
  // (replica.h), since each rank's own forward pass was the last to change them.
  void SynchronizeBuffers() { replica_.SynchronizeBuffers(); }

  Module& module() { return module_; }
  GradientReducer& reducer() { return replica_.reducer(); }

 private:
  Module module_;
  Replica replica_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_PARALLEL_DISTRIBUTED_DATA_PARALLEL_H_
