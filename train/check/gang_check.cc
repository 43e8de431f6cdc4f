#include "train/check/gang_check.h"

#include <ATen/DeviceAccelerator.h>
#include <ATen/Functions.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/version.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/text.h"
#include "common/version.h"
#include "train/check/pair_rounds.h"
#include "train/group/agreement.h"
#include "train/net/own_address.h"
#include "train/net/sockets.h"
#include "train/parallel/replica.h"
#include "train/tool/resnet.h"

namespace hpc::train {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int64_t kSmallest = 4 << 10;
constexpr int64_t kTimesLarger = 16;
constexpr int kMostRounds = 200;
// The pictures of the training step, of CIFAR's size.
constexpr int64_t kBatch = 4, kChannels = 3, kSide = 32, kClasses = 10;
constexpr double kStepSeconds = 2;
constexpr int kLeastSteps = 3, kMostSteps = 9;
// A GPU needs more steps: they are short, and its clock only rises while it computes.
constexpr int kMostStepsOfGpu = 200;
constexpr double kWarmSecondsOfGpu = 0.5;

double SecondsSince(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

// Returns the greatest number that a rank has.
double Greatest(Communicator& group, double mine) {
  at::Tensor value = at::full({1}, mine, at::kDouble);
  group.AllReduce(value, ReduceOp::kMax, {"check: time", {}})->Wait();
  return value.item<double>();
}

// Joins fields that contain no tab. Each rank or link has one line.
std::string Row(const std::vector<std::string>& fields) { return absl::StrJoin(fields, "\t"); }

std::vector<RankFacts> GatherFacts(Communicator& group, const std::string& host) {
  std::vector<RankFacts> all;
  for (const std::string& row : GatherTexts(group, Row({host, Version(), TORCH_VERSION}))) {
    const std::vector<std::string> fields = absl::StrSplit(row, '\t');
    all.push_back({fields.at(0), fields.at(1), fields.at(2)});
  }
  return all;
}

// ------------------------------------------------------------------------------------ all-reduce

// Returns the ranks whose sum of 1, 2 ... N is not exact in every element.
std::vector<int> WrongSums(Communicator& group, at::Device device, int64_t elements) {
  const int n = group.size();
  at::Tensor sum = at::full({elements}, static_cast<double>(group.rank() + 1),
                            at::TensorOptions(at::kFloat).device(device));
  group.AllReduce(sum, ReduceOp::kSum, {"check: sums", {}})->Wait();
  const bool right = sum.eq(n * (n + 1) / 2.0).all().item<bool>();
  at::Tensor all = at::empty({n}, at::kByte);
  group.AllGather(all, at::full({1}, right ? 0 : 1, at::kByte), {"check: wrong sums", {}})->Wait();
  std::vector<int> wrong;
  for (int rank = 0; rank < n; ++rank) {
    if (all[rank].item<int>() != 0) wrong.push_back(rank);
  }
  return wrong;
}

// Waits, since a GPU may not have done yet what it was given.
void AwaitDevice(at::Device device) {
  if (!device.is_cpu()) at::accelerator::synchronizeDevice(device.index());
}

// Returns the seconds of one `work` on the slowest rank, once all ranks have begun. It repeats
// `work` often enough to take `least` seconds.
double TimeTogether(Communicator& group, at::Device device, double least,
                    const std::function<void()>& work) {
  const auto times = [&](int rounds) {
    group.Barrier({"check: begin", {}})->Wait();
    const auto begin = SteadyClock::now();
    for (int i = 0; i < rounds; ++i) work();
    AwaitDevice(device);
    return Greatest(group, SecondsSince(begin)) / rounds;
  };
  const double once = times(1);
  return times(static_cast<int>(std::clamp(least / once, 1.0, double{kMostRounds})));
}

void CheckReduces(Communicator& group, const GangCheckOptions& options,
                  std::vector<ReduceResult>* results) {
  if (group.size() == 1) return;
  const double least = std::chrono::duration<double>(options.measure).count();
  const int64_t largest = std::max(options.largest_mib << 20, kSmallest);
  for (int64_t bytes = kSmallest;; bytes = std::min(bytes * kTimesLarger, largest)) {
    const int64_t elements = bytes / static_cast<int64_t>(sizeof(float));
    options.tell("measuring all-reduces of " + HumanBytes(static_cast<uint64_t>(bytes)));
    ReduceResult result = {.bytes = bytes, .wrong = WrongSums(group, options.device, elements)};
    const at::Tensor zeros =
        at::zeros({elements}, at::TensorOptions(at::kFloat).device(options.device));
    result.seconds = TimeTogether(group, options.device, least, [&] {
      group.AllReduce(zeros, ReduceOp::kSum, {"check: all-reduce", {}})->Wait();
    });
    results->push_back(std::move(result));
    if (bytes == largest) return;
  }
}

// ----------------------------------------------------------------------------------------- pairs

// Returns the outcome as a row; "" where this rank did not call.
std::string TakePart(int rank, const std::pair<int, int>& pair, int listener,
                     const std::vector<std::string>& endpoints, const ProbeOptions& options) {
  const auto row = [&](const LinkSpeed& speed, const std::string& error) {
    return Row({absl::StrCat(pair.first), absl::StrCat(pair.second), absl::StrCat(speed.round_trip),
                absl::StrCat(speed.there), absl::StrCat(speed.back), error});
  };
  try {
    if (rank == pair.first) return row(MeasureLink(endpoints[pair.second], options), "");
    AnswerProbe(listener, options);
  } catch (const std::runtime_error& error) {
    if (rank == pair.first) return row({}, OneLine(error.what()));
  }
  return "";
}

PairResult ReadPair(const std::string& row) {
  const std::vector<std::string> fields = absl::StrSplit(row, '\t');
  PairResult pair;
  const bool read = fields.size() == 6 && absl::SimpleAtoi(fields[0], &pair.a) &&
                    absl::SimpleAtoi(fields[1], &pair.b) &&
                    absl::SimpleAtod(fields[2], &pair.speed.round_trip) &&
                    absl::SimpleAtod(fields[3], &pair.speed.there) &&
                    absl::SimpleAtod(fields[4], &pair.speed.back);
  if (!read) throw std::runtime_error("a rank told of a link in other words: another version?");
  pair.error = fields[5];
  return pair;
}

void CheckPairs(Communicator& group, const RankSelf& self, const GangCheckOptions& options,
                std::vector<PairResult>* results) {
  if (group.size() == 1) return;
  std::string endpoint;
  const UniqueFd listener = Listen(self.address, &endpoint);
  const std::vector<std::string> endpoints = GatherTexts(group, endpoint);
  const ProbeOptions probe = {.word = GatherTexts(group, RandomWord())[0],
                              .measure = options.measure / 2};
  std::vector<std::string> rows;
  const auto rounds = PairRounds(group.size());
  options.tell(absl::StrCat("measuring the links between PCs, in ", Count(rounds.size(), "round")));
  for (const auto& round : rounds) {
    group.Barrier({"check: next pairs", {}})->Wait();
    for (const auto& pair : round) {
      if (group.rank() != pair.first && group.rank() != pair.second) continue;
      const std::string row = TakePart(group.rank(), pair, listener.get(), endpoints, probe);
      if (row.empty()) continue;
      rows.push_back(row);
      results->push_back(ReadPair(row));
    }
  }
  const std::vector<std::string> of_all = GatherTexts(group, absl::StrJoin(rows, "\n"));
  results->clear();
  for (const std::string& of_rank : of_all) {
    for (absl::string_view row : absl::StrSplit(of_rank, '\n', absl::SkipEmpty())) {
      results->push_back(ReadPair(std::string(row)));
    }
  }
}

// ---------------------------------------------------------------------------------- training step

StepResult CheckStep(const std::shared_ptr<Communicator>& group, at::Device device) {
  const std::unique_ptr<Model> model = MakeResnet(18, kChannels, kClasses);
  model->MoveTo(device);
  model->SetTraining(true);
  Replica replica(model->Parameters(), model->Buffers(), group, {});
  const at::Tensor pictures = at::randn({kBatch, kChannels, kSide, kSide}).to(device);
  const auto step = [&] {
    for (const NamedTensor& one : model->Parameters()) one.tensor.mutable_grad().reset();
    replica.BeforeForward(true);
    const at::Tensor output = model->Forward(pictures);
    replica.AfterForward({output});
    torch::autograd::backward({output.square().mean()}, {});
  };
  const auto time = [&] {
    const auto begin = SteadyClock::now();
    step();
    AwaitDevice(device);
    return SecondsSince(begin);
  };
  const int most = device.is_cpu() ? kMostSteps : kMostStepsOfGpu;
  const auto count = [&](double once) {
    return static_cast<int>(std::clamp<double>(kStepSeconds / once, kLeastSteps, most));
  };
  StepResult result;
  replica.reducer().set_synchronized(false);
  const auto warm_from = SteadyClock::now();
  do {
    time();  // the first step allocates memory
  } while (!device.is_cpu() && SecondsSince(warm_from) < kWarmSecondsOfGpu);
  group->Barrier({"check: steps alone", {}})->Wait();
  std::vector<double> times = {time()};
  for (int left = count(times[0]) - 1; left > 0; --left) times.push_back(time());
  const Repeated own = OfRepetitions(times);
  at::Tensor all = at::empty({2 * group->size()}, at::kDouble);
  group->AllGather(all, at::tensor({own.fastest, own.slow}, at::kDouble), {"check: time alone", {}})
      ->Wait();
  for (int rank = 0; rank < group->size(); ++rank) {
    result.alone.push_back({all[2 * rank].item<double>(), all[2 * rank + 1].item<double>()});
  }
  replica.reducer().set_synchronized(true);
  time();  // the first step makes the buckets
  group->Barrier({"check: steps together", {}})->Wait();
  result.together = Greatest(*group, time());
  for (int left = count(result.together) - 1; left > 0; --left) {
    result.together = std::min(result.together, Greatest(*group, time()));
  }
  return result;
}

}  // namespace

void CheckGang(const std::shared_ptr<Communicator>& group, const RankSelf& self,
               const GangCheckOptions& options, GangResult* gang) {
  gang->ranks = GatherFacts(*group, self.host);
  CheckReduces(*group, options, &gang->reduces);
  CheckPairs(*group, self, options, &gang->pairs);
  options.tell("measuring a step of ResNet-18");
  gang->step = CheckStep(group, options.device);
}

}  // namespace hpc::train
