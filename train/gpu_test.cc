// Tests of what only a GPU can show. They are skipped, with the reason, where there is none. They
// are also meant to be run under compute-sanitizer.
#include <ATen/DeviceAccelerator.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <signal.h>
#include <torch/torch.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "train/check/check_main.h"
#include "train/group/lone_communicator.h"
#include "train/nccl/accelerator_stream.h"
#include "train/nccl/nccl_communicator.h"
#include "train/nccl/torch_cuda.h"
#include "train/parallel/distributed_data_parallel.h"
#include "train/parallel/precision.h"
#include "train/program/pending_number.h"
#include "train/program/train_main.h"
#include "train/sharded/sharded_optimizer.h"
#include "train/testing/values.h"

namespace hpc::train {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using Body = std::function<Values(const LaunchEnvironment&)>;

constexpr char kSkip[] = "skip: ";
const at::Device kGpu(at::kCUDA, 0);

class GpuTest : public ::testing::Test {
 protected:
  // Runs `body` in processes of their own, because CUDA does not work in a process that was forked
  // from one that used it. A test must return if there are no outcomes: it is skipped then.
  std::vector<RankOutcome> Run(int ranks, const Body& body) {
    auto outcomes = RunRanks(ranks, [&](const LaunchEnvironment& environment) {
      const at::Device last(at::kCUDA, static_cast<c10::DeviceIndex>(ranks - 1));
      if (const auto why = WhyNoGpu(last)) throw std::runtime_error(kSkip + *why);
      return body(environment);
    });
    for (const RankOutcome& one : outcomes) {
      if (!absl::StartsWith(one.error, kSkip)) continue;
      Skip(one.error.substr(sizeof kSkip - 1));
      return {};
    }
    return outcomes;
  }
  // Needs NCCL, too.
  std::vector<RankOutcome> RunGroup(int ranks,
                                    const std::function<Values(Communicator&, at::Device)>& body) {
    return Run(ranks, [&](const LaunchEnvironment& environment) {
      try {
        LoadNccl(NcclCandidates(TorchFolder()));
      } catch (const std::exception& error) {
        throw std::runtime_error(kSkip + std::string(error.what()));
      }
      const at::Device mine(at::kCUDA, static_cast<c10::DeviceIndex>(environment.rank));
      at::accelerator::setDeviceIndex(mine.index());
      const auto group = MakeNcclCommunicator(environment, mine);
      return body(*group, mine);
    });
  }

 private:
  static void Skip(const std::string& why) { GTEST_SKIP() << why; }
};

// Keeps the current stream busy for long enough to look at what runs beside it.
void ComputeLong(const at::Tensor& matrix) {
  at::Tensor product = matrix;
  for (int i = 0; i < 200; ++i) product = at::mm(product, matrix);
}

TEST_F(GpuTest, NcclOfOneRankDoesWhatGlooDoes) {
  const auto outcomes = RunGroup(1, [](Communicator& group, at::Device gpu) {
    Values values;
    for (at::ScalarType type : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kLong}) {
      at::Tensor one = at::full({1000}, 3, at::TensorOptions(type).device(gpu));
      at::Tensor other = at::zeros_like(one);
      group.AllReduce(one, ReduceOp::kSum, {"sum", {}})->Wait();
      group.ReduceScatter(other, one, ReduceOp::kMax, {"part", {}})->Wait();
      group.AllGather(one, other.add(1), {"all", {}})->Wait();
      group.Broadcast(one, 0, {"root", {}})->Wait();
      values.push_back(one.to(at::kDouble).mean().item<double>());
    }
    at::Tensor on_cpu = at::ones({1});
    group.AllReduce(on_cpu, ReduceOp::kSum, {"on the CPU", {}})->Wait();
    group.Barrier({"end", {}})->Wait();
    return values;
  });
  if (outcomes.empty()) return;
  EXPECT_THAT(ValuesOf(outcomes)[0], Each(4.0));
}

TEST_F(GpuTest, CollectivesRunBesideWhatIsComputedLater) {
  const auto outcomes = RunGroup(1, [](Communicator& group, at::Device gpu) -> Values {
    const auto options = at::TensorOptions(at::kFloat).device(gpu);
    const at::Tensor matrix = at::full({4096, 4096}, 1e-4, options);
    at::Tensor summed = at::full({1 << 20}, 2, options);
    ComputeLong(matrix);  // loads NCCL and the kernels
    group.AllReduce(summed, ReduceOp::kSum, {"first", {}})->Wait();
    const c10::Stream beside = c10::impl::VirtualGuardImpl(at::kCUDA).getStreamFromGlobalPool(gpu);
    {
      const c10::StreamGuard other(beside);
      summed.sum().item<double>();  // loads what the sum needs, with its memory
    }
    at::accelerator::synchronizeDevice(gpu.index());

    auto pending = group.AllReduce(summed, ReduceOp::kSum, {"second", {}});
    ComputeLong(matrix);
    c10::Event computed(at::kCUDA);
    computed.record(at::accelerator::getCurrentStream(gpu.index()));
    const c10::StreamGuard other(beside);
    pending->Wait();
    const double sum = summed.sum().item<double>();
    return {sum / (1 << 20), computed.query() ? 1.0 : 0.0};
  });
  if (outcomes.empty()) return;
  EXPECT_EQ(ValuesOf(outcomes)[0], (Values{2, 0}));
}

TEST_F(GpuTest, CollectivesFollowWhatWasComputedBefore) {
  const auto outcomes = RunGroup(1, [](Communicator& group, at::Device gpu) -> Values {
    const auto options = at::TensorOptions(at::kFloat).device(gpu);
    at::Tensor matrix = at::full({4096, 4096}, 1e-4, options), last = at::zeros({1}, options);
    at::Tensor gathered = at::zeros({1}, options);
    ComputeLong(matrix);
    last.fill_(5);
    group.AllGather(gathered, last, {"late", {}})->Wait();
    gathered.add_(1);
    return {gathered.item<double>()};
  });
  if (outcomes.empty()) return;
  EXPECT_EQ(ValuesOf(outcomes)[0], Values{6});
}

TEST_F(GpuTest, SeveralGpusSumAndMissAKilledRank) {
  const auto outcomes = RunGroup(2, [](Communicator& group, at::Device gpu) -> Values {
    at::Tensor tensor =
        at::full({1 << 20}, group.rank() + 1, at::TensorOptions(at::kFloat).device(gpu));
    group.AllReduce(tensor, ReduceOp::kSum, {"sum", {}})->Wait();
    if (tensor.mean().item<double>() != 3) throw std::runtime_error("another sum");
    if (group.rank() == 1) raise(SIGKILL);
    for (;;) {
      group.AllReduce(tensor, ReduceOp::kMax, {"next", std::chrono::seconds(30)})->Wait();
      at::accelerator::synchronizeDevice(gpu.index());
    }
  });
  if (outcomes.empty()) return;
  EXPECT_THAT(outcomes[0].error, HasSubstr("rank 1 "));
  EXPECT_LT(outcomes[0].took, std::chrono::seconds(60));
}

TEST_F(GpuTest, ANumberIsReadWithoutWaitingForWhatIsComputedLater) {
  const auto outcomes = Run(1, [](const LaunchEnvironment&) -> Values {
    const auto options = at::TensorOptions(at::kFloat).device(kGpu);
    const at::Tensor matrix = at::full({4096, 4096}, 1e-4, options);
    at::Tensor loss = at::full({}, 1, options);
    ComputeLong(matrix);
    PendingNumber(loss).Value();  // loads what both need
    at::accelerator::synchronizeDevice(kGpu.index());

    loss.fill_(0.5);
    const PendingNumber number(loss);
    loss.fill_(2);
    ComputeLong(matrix);
    c10::Event computed(at::kCUDA);
    computed.record(at::accelerator::getCurrentStream(kGpu.index()));
    return {number.Value(), computed.query() ? 1.0 : 0.0};
  });
  if (outcomes.empty()) return;
  EXPECT_EQ(ValuesOf(outcomes)[0], (Values{0.5, 0}));
}

struct How {
  int stage = 1;
  bool offload = false;
  // If set, it trains with SGD, since Adam makes a whole step of the smallest difference.
  Compression compression = Compression::kNone;
};

// Returns the parameters after five steps, on `device`.
Values Trained(std::shared_ptr<Communicator> group, at::Device device, const How& how) {
  at::manual_seed(3);
  torch::nn::Sequential net(torch::nn::Linear(64, 128), torch::nn::ReLU(),
                            torch::nn::Linear(128, 10));
  const at::Tensor inputs = at::randn({32, 64}), labels = at::randint(10, {32});
  net->to(device);
  const std::vector<NamedTensor> parameters = Named(net->named_parameters());
  const bool compressed = how.compression != Compression::kNone;
  ShardedOptimizer optimizer(compressed ? Algorithm::kSgd : Algorithm::kAdamW,
                             {{parameters, {.lr = compressed ? 0.5 : 1e-2}}}, group,
                             {.stage = how.stage, .offload = how.offload});
  DistributedDataParallel<torch::nn::Sequential> model(
      net, group,
      {.reducer = {.compression = {.kind = how.compression, .powersgd_after = 1}},
       .shard = optimizer.shard()});
  for (int step = 0; step < 5; ++step) {
    optimizer.ZeroGrad();
    const at::Tensor loss =
        torch::nn::functional::cross_entropy(model(inputs.to(device)), labels.to(device));
    loss.backward();
    optimizer.ClipGradNorm(1.0);
    optimizer.Step();
  }
  for (const auto& state : optimizer.States()) {
    if (how.offload && !state.values.is_cpu()) throw std::runtime_error("a state is on the GPU");
  }
  std::vector<at::Tensor> all;
  for (const NamedTensor& one : parameters) all.push_back(one.tensor.to(at::kCPU));
  return Flat(all);
}

TEST_F(GpuTest, DataParallelAndShardedStepsAreThoseOfTheCpu) {
  const auto outcomes = Run(1, [](const LaunchEnvironment& environment) -> Values {
    at::globalContext().setFloat32MatmulPrecision("highest");
    const auto alone = std::make_shared<LoneCommunicator>();
    const auto group = MakeNcclCommunicator(environment, kGpu);
    Values differences;
    for (const How& how :
         {How{}, How{.stage = 2}, How{.offload = true}, How{.stage = 2, .offload = true},
          // One rank alone has its gradients in buckets only if they are compressed.
          How{.compression = Compression::kBf16}, How{.compression = Compression::kPowerSgd}}) {
      differences.push_back(Difference(Trained(alone, at::kCPU, how), Trained(group, kGpu, how)));
    }
    return differences;
  });
  if (outcomes.empty()) return;
  EXPECT_THAT(ValuesOf(outcomes)[0], Each(::testing::Lt(1e-3)));
}

TEST_F(GpuTest, OffloadedStatesTakeNoMemoryOfTheGpu) {
  const auto outcomes = Run(1, [](const LaunchEnvironment&) -> Values {
    Values grown;
    for (bool offload : {false, true}) {
      const at::Tensor parameter =
          at::zeros({4 << 20}, at::TensorOptions(kGpu)).requires_grad_(true);
      parameter.mutable_grad() = at::ones_like(parameter);
      ShardedOptimizer optimizer(Algorithm::kAdam, {{{{"weight", parameter}}, {}}},
                                 std::make_shared<LoneCommunicator>(), {.offload = offload});
      const auto in_use = [] {
        const auto stats = at::accelerator::getDeviceStats(0);
        return static_cast<double>(stats.allocated_bytes[0].current);
      };
      const double before = in_use();
      optimizer.Step();
      grown.push_back((in_use() - before) / (1 << 20));
    }
    return grown;
  });
  if (outcomes.empty()) return;
  const Values grown = ValuesOf(outcomes)[0];
  EXPECT_GT(grown[0], 31);  // two states of 16 MiB each
  EXPECT_LT(grown[1], 1);
}

TEST_F(GpuTest, Fp16ScalesTheLossAndLeavesOutWhatIsInfinite) {
  const auto outcomes = Run(1, [](const LaunchEnvironment&) -> Values {
    LossScaler scaler(std::make_shared<LoneCommunicator>(), {.initial = 1024});
    torch::nn::Linear net(8, 8);
    net->to(kGpu);
    const at::Tensor input = at::ones({4, 8}, at::TensorOptions(kGpu));
    bool narrow = false;
    at::Tensor loss;
    {
      const Autocast autocast(Precision::kFp16, at::kCUDA);
      const at::Tensor output = net(input);
      narrow = output.scalar_type() == at::kHalf;
      loss = output.to(at::kFloat).square().mean();
    }
    scaler.Scale(loss).backward();
    const std::vector<at::Tensor> gradients = {net->weight.grad(), net->bias.grad()};
    const bool finite = scaler.Unscale(gradients);
    gradients[1].fill_(INFINITY);
    const bool infinite = !scaler.Unscale(gradients);
    return {narrow ? 1.0 : 0.0, finite ? 1.0 : 0.0, infinite ? 1.0 : 0.0, scaler.scale() / 512};
  });
  if (outcomes.empty()) return;
  EXPECT_THAT(ValuesOf(outcomes)[0], Each(1.0));
}

TEST_F(GpuTest, TheProgramTrainsAndChecks) {
  const std::string text = absl::StrCat(::testing::TempDir(), "/gpu_test_text");
  {
    std::ofstream file(text);
    for (int i = 0; i < 2000; ++i) file << "the cat sat on the mat. ";
  }
  const auto outcomes = Run(1, [&](const LaunchEnvironment&) -> Values {
    Values codes;
    for (const char* precision : {"fp32", "bf16", "fp16"}) {
      // This program has one task, so the task is not named.
      std::vector<std::string> arguments = {"hpc-train",
                                            "--data",
                                            text,
                                            "--device=cuda",
                                            "--width=32",
                                            "--depth=2",
                                            "--context=32",
                                            "--recompute",
                                            "--dropout=0.1",
                                            absl::StrCat("--precision=", precision)};
      std::vector<char*> argv;
      for (std::string& one : arguments) argv.push_back(one.data());
      codes.push_back(TrainMain(static_cast<int>(argv.size()), argv.data(), {CharlmTask()}));
    }
    codes.push_back(CheckMain("hpc-train", {"--device=cuda", "--measure-ms=10"}));
    return codes;
  });
  std::filesystem::remove(text);
  if (outcomes.empty()) return;
  EXPECT_THAT(ValuesOf(outcomes)[0], Each(0.0));
}

}  // namespace
}  // namespace hpc::train
