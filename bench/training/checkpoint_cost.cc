// hpc-checkpoint-cost FOLDER ROUNDS: measures what a checkpoint of 25.6 million parameters and
// AdamW's states (307 MB) costs one rank. Prints for each round how many milliseconds training
// waited, and how many passed until the checkpoint was whole.
#include <torch/torch.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "train/checkpoint/checkpointer.h"
#include "train/group/lone_communicator.h"
#include "train/sharded/sharded_optimizer.h"

int main(int argc, char** argv) {
  using namespace hpc::train;  // NOLINT
  using Clock = std::chrono::steady_clock;
  if (argc != 3) {
    std::fprintf(stderr, "usage: hpc-checkpoint-cost FOLDER ROUNDS\n");
    return 2;
  }
  auto group = std::make_shared<LoneCommunicator>();
  std::vector<NamedTensor> parameters;
  for (int i = 0; i < 100; ++i) {
    parameters.push_back({"p" + std::to_string(i), torch::randn({500, 512}).requires_grad_(true)});
    parameters.back().tensor.mutable_grad() = torch::randn({500, 512});
  }
  ShardedOptimizer optimizer(Algorithm::kAdamW, {{parameters, {}}}, group);
  optimizer.Step();
  Checkpointer checkpoints({.folder = argv[1]}, group, group);
  for (int round = 1; round <= std::atoi(argv[2]); ++round) {
    const auto start = Clock::now();
    checkpoints.Save({.step = round}, {parameters, {}, &optimizer});
    const std::chrono::duration<double, std::milli> waited = Clock::now() - start;
    checkpoints.Wait();
    const std::chrono::duration<double, std::milli> took = Clock::now() - start;
    std::printf("%.1f %.1f\n", waited.count(), took.count());
  }
}
