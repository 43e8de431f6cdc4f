// hpc-training-step conv|gpt BLOCKS STEPS DEVICE PRECISION: one rank of a small training, for
// bench/step.py. DEVICE is cpu or cuda, PRECISION fp32 or bf16. It first prints "first", when its
// first step had ended (CLOCK_MONOTONIC, in seconds), and the CPU seconds of the process until
// then. Then it prints for each of BLOCKS the milliseconds of CPU, and of time, that one of its
// STEPS took. bench/step.py has the same nets in Python.
#include <ATen/DeviceAccelerator.h>
#include <torch/torch.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>

#include "train/group/lone_communicator.h"
#include "train/make_communicator.h"
#include "train/parallel/distributed_data_parallel.h"
#include "train/parallel/precision.h"
#include "train/sharded/sharded_optimizer.h"
#include "train/tensors/kept_memory.h"

namespace {

namespace nn = torch::nn;

// Works like Python's nn.Linear. C++'s multiplies and adds in two operations.
at::Tensor Apply(const nn::Linear& layer, const at::Tensor& x) {
  return at::linear(x, layer->weight, layer->bias);
}

double Seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct ConvNetImpl : nn::Module {
  ConvNetImpl() {
    register_module("first", first);
    register_module("second", second);
    register_module("wide", wide);
    register_module("head", head);
  }
  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor small = at::max_pool2d(at::relu(first(x)), 2);
    const at::Tensor smaller = at::max_pool2d(at::relu(second(small)), 2);
    return Apply(head, at::relu(Apply(wide, smaller.flatten(1))));
  }

  nn::Conv2d first{nn::Conv2dOptions(1, 16, 3).padding(1)};
  nn::Conv2d second{nn::Conv2dOptions(16, 32, 3).padding(1)};
  nn::Linear wide{32 * 7 * 7, 128}, head{128, 10};
};
TORCH_MODULE(ConvNet);

constexpr int64_t kWidth = 256, kContext = 128, kHeads = 4, kDepth = 4, kSymbols = 256;

struct BlockImpl : nn::Module {
  BlockImpl() {
    register_module("before_attention", before_attention);
    register_module("query_key_value", query_key_value);
    register_module("attended", attended);
    register_module("before_layers", before_layers);
    register_module("wide", wide);
    register_module("narrow", narrow);
  }
  at::Tensor forward(const at::Tensor& x) {
    const int64_t batch = x.size(0), length = x.size(1);
    const auto parts = Apply(query_key_value, before_attention(x))
                           .view({batch, length, 3, kHeads, kWidth / kHeads})
                           .permute({2, 0, 3, 1, 4})
                           .unbind(0);
    const at::Tensor mixed =
        at::scaled_dot_product_attention(parts[0], parts[1], parts[2], {}, 0, /*is_causal=*/true)
            .transpose(1, 2)
            .reshape({batch, length, kWidth});
    const at::Tensor h = x + Apply(attended, mixed);
    return h + Apply(narrow, at::gelu(Apply(wide, before_layers(h))));
  }

  nn::LayerNorm before_attention{nn::LayerNormOptions({kWidth})};
  nn::Linear query_key_value{kWidth, 3 * kWidth}, attended{kWidth, kWidth};
  nn::LayerNorm before_layers{nn::LayerNormOptions({kWidth})};
  nn::Linear wide{kWidth, 4 * kWidth}, narrow{4 * kWidth, kWidth};
};
TORCH_MODULE(Block);

struct GptImpl : nn::Module {
  GptImpl() {
    register_module("symbols", symbols);
    register_module("places", places);
    for (int64_t i = 0; i < kDepth; ++i) {
      blocks.push_back(register_module("block" + std::to_string(i), Block()));
    }
    register_module("last", last);
    register_module("head", head);
  }
  at::Tensor forward(const at::Tensor& codes) {
    at::Tensor h = symbols(codes) + places->weight;
    for (Block& block : blocks) h = block(h);
    return Apply(head, last(h)).flatten(0, 1);
  }

  nn::Embedding symbols{kSymbols, kWidth}, places{kContext, kWidth};
  std::vector<Block> blocks;
  nn::LayerNorm last{nn::LayerNormOptions({kWidth})};
  nn::Linear head{nn::LinearOptions(kWidth, kSymbols).bias(false)};
};
TORCH_MODULE(Gpt);

struct Plan {
  int blocks, steps;
  std::string device;
  hpc::train::Precision precision;
};

template <typename Net>
void Train(Net net, at::Tensor input, at::Tensor target, const Plan& plan) {
  using namespace hpc::train;  // NOLINT
  const LaunchEnvironment environment = ReadLaunchEnvironment();
  const at::Device device = ChooseDevice(plan.device, environment);
  auto group = MakeCommunicator(environment, device);
  net->to(device);
  input = input.to(device);
  target = target.to(device);
  ShardedOptimizer optimizer(Algorithm::kAdamW,
                             {{Named(net->named_parameters()), {.weight_decay = 0.01}}},
                             // A lone communicator: the optimizer's state is not divided.
                             std::make_shared<LoneCommunicator>());
  DistributedDataParallel<Net> model(net, group);
  double loss_of_all = 0;
  auto step = [&] {
    optimizer.ZeroGrad();
    const at::Tensor loss = [&] {
      const Autocast autocast(plan.precision, device.type());
      return at::cross_entropy_loss(model(input), target);
    }();
    loss.backward();
    optimizer.Step();
    loss_of_all += loss.item<double>();
  };
  auto steps = [&] {
    for (int i = 0; i < plan.steps; ++i) step();
    if (!device.is_cpu()) at::accelerator::synchronizeDevice(device.index());
  };
  step();
  std::printf("first %.6f %.6f\n", Seconds(CLOCK_MONOTONIC), Seconds(CLOCK_PROCESS_CPUTIME_ID));
  steps();  // warms up
  for (int block = 0; block < plan.blocks; ++block) {
    const double begin = Seconds(CLOCK_MONOTONIC), cpu = Seconds(CLOCK_PROCESS_CPUTIME_ID);
    steps();
    std::printf("%.4f %.4f\n", (Seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu) * 1000 / plan.steps,
                (Seconds(CLOCK_MONOTONIC) - begin) * 1000 / plan.steps);
  }
  std::fflush(stdout);
  group->Barrier({"end", {}})->Wait();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string net = argc == 6 ? argv[1] : "", precision = argc == 6 ? argv[5] : "";
  if ((net != "conv" && net != "gpt") || (precision != "fp32" && precision != "bf16")) {
    std::fprintf(stderr, "usage: hpc-training-step conv|gpt BLOCKS STEPS cpu|cuda fp32|bf16\n");
    return 2;
  }
  hpc::train::KeepFreedMemory();
  at::set_num_threads(1);
  const Plan plan{.blocks = std::atoi(argv[2]),
                  .steps = std::atoi(argv[3]),
                  .device = argv[4],
                  .precision = precision == "bf16" ? hpc::train::Precision::kBf16
                                                   : hpc::train::Precision::kFp32};
  try {
    if (net == "conv") {
      Train(ConvNet(), at::randn({32, 1, 28, 28}), at::randint(10, {32}), plan);
    } else {
      Train(Gpt(), at::randint(kSymbols, {4, kContext}), at::randint(kSymbols, {4 * kContext}),
            plan);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hpc-training-step: %s\n", error.what());
    return 1;
  }
}
