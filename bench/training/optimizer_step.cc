// hpc-optimizer-step torch|ours ROUNDS: measures how long one step of AdamW takes with one thread,
// with 25.6 million parameters in the shapes of bench/optimizer.py. Prints the milliseconds of each
// round.
#include <torch/torch.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "train/group/lone_communicator.h"
#include "train/sharded/sharded_optimizer.h"

namespace {

using hpc::train::NamedTensor;

std::vector<NamedTensor> Parameters() {
  std::vector<NamedTensor> parameters;
  auto add = [&](int count, const std::vector<int64_t>& shape) {
    for (; count > 0; --count) {
      at::Tensor tensor = torch::randn(shape).requires_grad_(true);
      tensor.mutable_grad() = torch::randn(shape);
      parameters.push_back({"p" + std::to_string(parameters.size()), tensor});
    }
  };
  add(10, {512, 512, 3, 3});
  add(1, {1000, 2048});
  add(150, {512});
  return parameters;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: hpc-optimizer-step torch|ours ROUNDS\n");
    return 2;
  }
  at::set_num_threads(1);
  const std::vector<NamedTensor> parameters = Parameters();
  std::vector<at::Tensor> tensors;
  for (const NamedTensor& one : parameters) tensors.push_back(one.tensor);
  torch::optim::AdamW torchs(tensors, torch::optim::AdamWOptions(1e-3).weight_decay(0.01));
  hpc::train::ShardedOptimizer ours(hpc::train::Algorithm::kAdamW,
                                    {{parameters, {.weight_decay = 0.01}}},
                                    std::make_shared<hpc::train::LoneCommunicator>());
  const std::function<void()> step = std::strcmp(argv[1], "ours") == 0
                                         ? std::function<void()>([&] { ours.Step(); })
                                         : std::function<void()>([&] { torchs.step(); });
  for (int warm = 0; warm < 3; ++warm) step();
  for (int round = std::atoi(argv[2]); round > 0; --round) {
    const auto start = std::chrono::steady_clock::now();
    step();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    std::printf("%.3f\n", took.count());
  }
}
