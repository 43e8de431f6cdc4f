// hpc-wire-step none|bf16|powersgd|local COMPUTE_MS STEPS LOCAL_STEPS: one rank of a simulated
// training, for bench/wire.py. Its gradients have the sizes of ResNet-50, and it only waits instead
// of computing. A third of COMPUTE_MS is the forward pass. In the rest, the backward pass, a
// layer's gradients become ready when its share of the operations is over, for a picture of 224 x
// 224. With `local`, LOCAL_STEPS steps count as one here, with parameters averaged at their end in
// bf16.
//
// Prints four numbers for each step: its milliseconds, those from the first gradient on, the
// milliseconds of CPU of this process, and the bytes that eth0 sent.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include "train/group/gloo_communicator.h"
#include "train/parallel/local_steps.h"
#include "train/parallel/replica.h"
#include "train/parallel/step_agreement.h"
#include "train/tensors/kept_memory.h"

namespace {

using hpc::train::NamedTensor;
using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr int kWarm = 4;  // the order of gradients is learned, and PowerSGD begins
constexpr int kPlainFirst = 2;

// One layer of the backward pass. Its gradients become ready together.
struct Layer {
  std::vector<at::Tensor> parameters;
  double operations = 0;
};

class Resnet50 {
 public:
  Resnet50() {
    Conv(64, 3, 7, 112);
    int64_t channels = 64;
    const int blocks[] = {3, 4, 6, 3};
    for (int stage = 0; stage < 4; ++stage) {
      const int64_t width = 64 << stage, points = 56 >> stage;
      for (int block = 0; block < blocks[stage]; ++block) {
        if (block == 0) Conv(4 * width, channels, 1, points);
        Conv(width, channels, 1, points);
        Conv(width, width, 3, points);
        Conv(4 * width, width, 1, points);
        channels = 4 * width;
      }
    }
    Add({1000, 2048}, 1000 * 2048);
    layers_.back().parameters.push_back(Parameter({1000}));
  }

  std::vector<Layer>& layers() { return layers_; }
  const std::vector<NamedTensor>& parameters() const { return parameters_; }

 private:
  at::Tensor Parameter(at::IntArrayRef shape) {
    const at::Tensor parameter = at::randn(shape).mul_(0.01).requires_grad_(true);
    parameters_.push_back({"p" + std::to_string(parameters_.size()), parameter});
    return parameter;
  }
  void Add(at::IntArrayRef shape, int64_t operations) {
    layers_.push_back({{Parameter(shape)}, static_cast<double>(operations)});
  }
  // Adds a convolution with its BatchNorm.
  void Conv(int64_t out, int64_t in, int64_t kernel, int64_t points) {
    Add({out, in, kernel, kernel}, out * in * kernel * kernel * points * points);
    layers_.back().parameters.push_back(Parameter({out}));
    layers_.back().parameters.push_back(Parameter({out}));
  }

  std::vector<Layer> layers_;
  std::vector<NamedTensor> parameters_;
};

// Says when a backward pass began, and when each layer of it is over.
struct Timetable {
  Clock::time_point begin;
  std::vector<Milliseconds> due;
  std::vector<std::vector<at::Tensor>> gradients;  // one list for each layer
};
Timetable timetable;

class TimedLayer : public torch::autograd::Function<TimedLayer> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            int64_t index, at::TensorList) {
    context->saved_data["index"] = index;
    return x.clone();
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto index = static_cast<size_t>(context->saved_data["index"].toInt());
    std::this_thread::sleep_until(
        timetable.begin + std::chrono::duration_cast<Clock::duration>(timetable.due[index]));
    torch::autograd::variable_list all = {gradients[0], {}};
    // detach() makes another tensor of the same memory, which autograd takes as it is, so that a
    // gradient costs nothing.
    for (const at::Tensor& one : timetable.gradients[index]) all.push_back(one.detach());
    return all;
  }
};

at::Tensor Forward(std::vector<Layer>& layers) {
  at::Tensor x = at::ones({1}).requires_grad_(true);
  for (size_t i = 0; i < layers.size(); ++i) {
    x = TimedLayer::apply(x, static_cast<int64_t>(i), at::TensorList(layers[i].parameters));
  }
  return x;
}

void MakeTimetable(const std::vector<Layer>& layers, double backward_ms) {
  double all = 0, over = 0;
  for (const Layer& layer : layers) all += layer.operations;
  timetable.due.resize(layers.size());
  for (size_t i = layers.size(); i-- > 0;) {
    over += layers[i].operations;
    timetable.due[i] = Milliseconds(backward_ms * over / all);
  }
  for (const Layer& layer : layers) {
    timetable.gradients.emplace_back();
    for (const at::Tensor& one : layer.parameters) {
      timetable.gradients.back().push_back(at::empty(one.sizes()));
    }
  }
}

double Sent() {
  double bytes = 0;
  std::ifstream("/sys/class/net/eth0/statistics/tx_bytes") >> bytes;
  return bytes;
}

double CpuMs() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1000 + static_cast<double>(now.tv_nsec) * 1e-6;
}

void Wait(double ms) { std::this_thread::sleep_for(Milliseconds(ms)); }

class Measurement {
 public:
  explicit Measurement(hpc::train::Communicator& group) {
    group.Barrier({"step", {}})->Wait();
    sent_ = Sent();
    cpu_ = CpuMs();
    begin_ = Clock::now();
  }
  void Print(double first_gradient_ms) const {
    const double took = Milliseconds(Clock::now() - begin_).count();
    const double cpu = CpuMs() - cpu_;
    Wait(20);  // lets acknowledgements be counted too
    std::printf("%.3f %.3f %.3f %.0f\n", took, took - first_gradient_ms, cpu, Sent() - sent_);
  }

 private:
  double sent_, cpu_;
  Clock::time_point begin_;
};

void ReduceGradients(Resnet50& net, const std::shared_ptr<hpc::train::Communicator>& group,
                     hpc::train::Compression compression, double compute_ms, int steps) {
  using namespace hpc::train;  // NOLINT
  MakeTimetable(net.layers(), compute_ms * 2 / 3);
  Replica replica(
      net.parameters(), {}, group,
      {.reducer = {.compression = {.kind = compression, .powersgd_after = kPlainFirst}}});
  for (int step = 0; step < kWarm + steps; ++step) {
    for (const auto& layer : timetable.gradients) {
      for (at::Tensor one : layer) one.normal_(0, 0.01);
    }
    for (const NamedTensor& one : net.parameters()) one.tensor.mutable_grad().reset();
    const Measurement measurement(*group);
    replica.BeforeForward(true);
    const at::Tensor output = Forward(net.layers());
    replica.AfterForward({output});
    Wait(compute_ms / 3);
    timetable.begin = Clock::now();
    torch::autograd::backward({output}, {at::ones({1})});
    if (step >= kWarm) measurement.Print(compute_ms / 3 + timetable.due.back().count());
  }
}

void AverageParameters(const Resnet50& net, const std::shared_ptr<hpc::train::Communicator>& group,
                       double compute_ms, int rounds, int local_steps) {
  using namespace hpc::train;  // NOLINT
  LocalSteps local(net.parameters(), {}, group,
                   {.steps = local_steps, .compression = Compression::kBf16});
  StepAgreement agreement(group);
  for (int round = 0; round < rounds; ++round) {
    const Measurement measurement(*group);
    for (int step = 0; step < local_steps; ++step) {
      Wait(compute_ms / 3);
      agreement.Begin(false, false);
      Wait(compute_ms * 2 / 3);
      agreement.End();
      local.Step(1);
    }
    measurement.Print(0);
  }
}

}  // namespace

int main(int argc, char** argv) {
  using namespace hpc::train;  // NOLINT
  const std::map<std::string, Compression> kinds = {{"none", Compression::kNone},
                                                    {"bf16", Compression::kBf16},
                                                    {"powersgd", Compression::kPowerSgd}};
  const std::string kind = argc == 5 ? argv[1] : "";
  if (kind != "local" && kinds.count(kind) == 0) {
    std::fprintf(stderr,
                 "usage: hpc-wire-step none|bf16|powersgd|local COMPUTE_MS STEPS LOCAL_STEPS\n");
    return 2;
  }
  KeepFreedMemory();
  at::set_num_threads(1);
  at::manual_seed(7);
  auto group = MakeGlooCommunicator(ReadLaunchEnvironment());
  Resnet50 net;
  const double compute_ms = std::atof(argv[2]);
  if (kind == "local") {
    AverageParameters(net, group, compute_ms, std::atoi(argv[3]), std::atoi(argv[4]));
  } else {
    ReduceGradients(net, group, kinds.at(kind), compute_ms, std::atoi(argv[3]));
  }
  std::fflush(stdout);
  group->Barrier({"end", {}})->Wait();
}
