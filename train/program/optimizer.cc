#include "train/program/optimizer.h"

#include "train/group/lone_communicator.h"

namespace hpc::train {
namespace {

Algorithm AlgorithmOf(const std::string& name) {
  if (name == "sgd") return Algorithm::kSgd;
  return name == "adam" ? Algorithm::kAdam : Algorithm::kAdamW;
}

}  // namespace

std::unique_ptr<ShardedOptimizer> MakeOptimizer(const TrainOptions& options,
                                                std::vector<NamedTensor> parameters,
                                                std::shared_ptr<Communicator> group) {
  Hyperparameters hyperparameters = {.lr = options.lr, .weight_decay = options.weight_decay};
  if (options.optimizer == "sgd") hyperparameters.momentum = options.momentum;
  if (options.zero == 0) group = std::make_shared<LoneCommunicator>();
  return std::make_unique<ShardedOptimizer>(
      AlgorithmOf(options.optimizer),
      std::vector<ParameterGroup>{{std::move(parameters), hyperparameters}}, std::move(group),
      ShardedOptions{.stage = options.zero == 2 ? 2 : 1, .offload = options.offload});
}

}  // namespace hpc::train
