// Tests the results of compressed gradients, and how many bytes they take.
#include "train/buckets/compression.h"

#include <torch/torch.h>

#include <atomic>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "train/group/gloo_communicator.h"
#include "train/group/lone_communicator.h"
#include "train/parallel/distributed_data_parallel.h"
#include "train/parallel/local_steps.h"
#include "train/testing/rank_processes.h"

namespace hpc::train {
namespace {

using ::testing::Each;

// Counts the bytes that this rank gives to be reduced.
class Counting : public Communicator {
 public:
  explicit Counting(std::shared_ptr<Communicator> group) : group_(std::move(group)) {}
  int rank() const override { return group_->rank(); }
  int size() const override { return group_->size(); }
  PendingPtr AllReduce(at::Tensor tensor, ReduceOp op, Options options) override {
    bytes += tensor.nbytes();
    return group_->AllReduce(tensor, op, options);
  }
  PendingPtr ReduceScatter(at::Tensor output, at::Tensor input, ReduceOp op,
                           Options options) override {
    return group_->ReduceScatter(output, input, op, options);
  }
  PendingPtr AllGather(at::Tensor output, at::Tensor input, Options options) override {
    return group_->AllGather(output, input, options);
  }
  PendingPtr AllToAll(at::Tensor output, std::vector<int64_t> output_counts, at::Tensor input,
                      std::vector<int64_t> input_counts, Options options) override {
    return group_->AllToAll(output, output_counts, input, input_counts, options);
  }
  PendingPtr Broadcast(at::Tensor tensor, int root, Options options) override {
    return group_->Broadcast(tensor, root, options);
  }
  PendingPtr Barrier(Options options) override { return group_->Barrier(options); }
  void AbortForAll(const std::string& reason) override { group_->AbortForAll(reason); }
  void Abort(const std::string& reason) override { group_->Abort(reason); }

  std::atomic<size_t> bytes{0};

 private:
  const std::shared_ptr<Communicator> group_;
};

// Makes samples for a classification that is not linear: of four clouds round a circle, opposite
// ones belong together.
std::pair<at::Tensor, at::Tensor> Samples(int64_t count, int seed) {
  torch::manual_seed(seed);
  const at::Tensor which = torch::randint(8, {count});
  const at::Tensor angle = which * (M_PI / 4);
  const at::Tensor centre = torch::stack({angle.cos(), angle.sin()}, 1);
  const at::Tensor x = torch::cat({centre, centre * 0.5}, 1) + torch::randn({count, 4}) * 0.1;
  return {x, which.remainder(4)};
}

struct Trained {
  double accuracy, bytes_of_a_step, checksum;
};

Trained Train(const LaunchEnvironment& environment, const CompressionOptions& compression,
              int local_steps, int steps) {
  const auto [x, y] = Samples(512, 1);
  torch::manual_seed(2);
  torch::nn::Sequential net(torch::nn::Linear(4, 64), torch::nn::ReLU(), torch::nn::Linear(64, 64),
                            torch::nn::ReLU(), torch::nn::Linear(64, 4));
  auto group = std::make_shared<Counting>(MakeGlooCommunicator(environment));
  DistributedDataParallel<torch::nn::Sequential> model(
      net, group,
      {.reducer = {.first_bucket_bytes = 3000, .bucket_bytes = 8000, .compression = compression}});
  std::vector<NamedTensor> parameters;
  for (const auto& one : net->named_parameters()) parameters.push_back({one.key(), one.value()});
  std::unique_ptr<LocalSteps> local;
  if (local_steps > 0) {
    model.reducer().set_synchronized(false);
    local = std::make_unique<LocalSteps>(parameters, std::vector<NamedTensor>{}, group,
                                         LocalStepsOptions{.steps = local_steps});
  }
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  for (int step = 0; step < steps; ++step) {
    if (step == steps / 2) group->bytes = 0;
    torch::manual_seed(100 + step);
    const at::Tensor mine =
        torch::randint(512, {64}).chunk(environment.world_size)[environment.rank];
    optimizer.zero_grad();
    torch::nn::functional::cross_entropy(model(x.index_select(0, mine)), y.index_select(0, mine))
        .backward();
    optimizer.step();
    if (local) local->Step(1);
  }
  const double bytes = static_cast<double>(group->bytes) / (steps - steps / 2);
  if (local) local->Synchronize();
  const auto [test_x, test_y] = Samples(1000, 9);
  torch::NoGradGuard no_grad;
  const double accuracy =
      net->forward(test_x).argmax(1).eq(test_y).to(torch::kDouble).mean().item<double>();
  double checksum = 0;
  for (const at::Tensor& one : net->parameters()) checksum += one.abs().sum().item<double>();
  group->Barrier({"end", {}})->Wait();
  return {accuracy, bytes, checksum};
}

Trained TrainOn(int ranks, const CompressionOptions& compression, int local_steps = 0,
                int steps = 200) {
  auto values = ValuesOf(RunRanks(ranks, [&](const LaunchEnvironment& environment) -> Values {
    const Trained trained = Train(environment, compression, local_steps, steps);
    return {trained.accuracy, trained.bytes_of_a_step, trained.checksum};
  }));
  EXPECT_THAT(values, Each(values[0])) << "ranks must have the same bits";
  return values[0].size() == 3 ? Trained{values[0][0], values[0][1], values[0][2]} : Trained{};
}

TEST(Compression, ReachesTheSameAccuracyWithFewerBytes) {
  const Trained plain = TrainOn(2, {});
  EXPECT_GT(plain.accuracy, 0.98);
  const Trained bf16 = TrainOn(2, {.kind = Compression::kBf16});
  EXPECT_NEAR(bf16.accuracy, plain.accuracy, 0.005);
  EXPECT_DOUBLE_EQ(bf16.bytes_of_a_step, plain.bytes_of_a_step / 2);
  const Trained fp16 = TrainOn(2, {.kind = Compression::kFp16});
  EXPECT_NEAR(fp16.accuracy, plain.accuracy, 0.005);
  EXPECT_DOUBLE_EQ(fp16.bytes_of_a_step, plain.bytes_of_a_step / 2);
  const Trained power = TrainOn(2, {.kind = Compression::kPowerSgd, .powersgd_rank = 2});
  EXPECT_NEAR(power.accuracy, plain.accuracy, 0.005);
  EXPECT_LT(power.bytes_of_a_step, plain.bytes_of_a_step / 5);
  std::cout << "bytes a step " << plain.bytes_of_a_step << ", bf16 " << bf16.bytes_of_a_step
            << ", PowerSGD " << power.bytes_of_a_step << "\n";
}

TEST(LocalSteps, ReachTheSameAccuracyWithFewerBytes) {
  const Trained plain = TrainOn(2, {});
  const Trained local = TrainOn(2, {}, 8, 240);
  EXPECT_NEAR(local.accuracy, plain.accuracy, 0.005);
  EXPECT_LT(local.bytes_of_a_step, plain.bytes_of_a_step / 7);
}

TEST(PowerSgd, NothingIsLostButLate) {
  auto outcome = RunRanks(2, [](const LaunchEnvironment& environment) -> Values {
    auto group = MakeGlooCommunicator(environment);
    at::Tensor flat = at::zeros({40 * 30 + 7});
    const at::Tensor view = flat.narrow(0, 0, 1200).view({40, 30});
    auto sum =
        MakeBucketSum({.kind = Compression::kPowerSgd, .powersgd_rank = 2, .powersgd_after = 0},
                      flat, {view}, "test");
    torch::manual_seed(environment.rank);
    const at::Tensor mine = torch::randn({1207});
    at::Tensor true_sum = mine.clone();
    group->AllReduce(true_sum, ReduceOp::kSum, {"truth", {}})->Wait();
    at::Tensor sent = at::zeros({1207});
    constexpr int kSteps = 300;
    double rest_error = 0, first_error = 0;
    for (int step = 1; step <= kSteps; ++step) {
      sum->Put(0, mine.narrow(0, 0, 1200).view({40, 30}), 1);
      flat.narrow(0, 1200, 7).copy_(mine.narrow(0, 1200, 7));
      sum->Begin(*group);
      sum->Advance(*group);
      sum->Finish();
      at::Tensor got = flat.clone();
      sum->Take(0, got.narrow(0, 0, 1200).view({40, 30}));
      sent += got;
      rest_error =
          std::max(rest_error, (got - true_sum).narrow(0, 1200, 7).abs().max().item<double>());
      if (step == 1) first_error = ((sent - true_sum).norm() / true_sum.norm()).item<double>();
    }
    group->Barrier({"end", {}})->Wait();
    return {rest_error, first_error,
            ((sent / kSteps - true_sum).norm() / true_sum.norm()).item<double>()};
  });
  for (const Values& values : ValuesOf(outcome)) {
    EXPECT_EQ(values[0], 0) << "what is no matrix is exact";
    EXPECT_GT(values[1], 0.5) << "two columns hold little of random numbers";
    EXPECT_LT(values[2], 0.1) << "but what is left out follows";
  }
}

// A matrix of rank 2, and PowerSGD of that rank for gradients of its shape.
class LowRank {
 public:
  explicit LowRank(int after)
      : matrix((torch::manual_seed(0), torch::randn({50, 2}).mm(torch::randn({2, 40})))),
        sum(MakeBucketSum(
            {.kind = Compression::kPowerSgd, .powersgd_rank = 2, .powersgd_after = after}, flat_,
            {flat_.view({50, 40})}, "test")) {}

  // Returns how far the result, which it takes into `got`, is from `expected`, relative to the
  // matrix's size.
  double Error(const at::Tensor& got, const at::Tensor& expected) {
    sum->Begin(group_);
    sum->Advance(group_);
    sum->Finish();
    sum->Take(0, got);
    return ((got - expected).norm() / matrix.norm()).item<double>();
  }

 private:
  LoneCommunicator group_;
  const at::Tensor flat_ = at::zeros({2000});

 public:
  const at::Tensor matrix;
  const std::unique_ptr<BucketSum> sum;
};

TEST(PowerSgd, AMatrixOfLowRankIsExactAndInfinityPassesBy) {
  auto outcome = RunRanks(1, [](const LaunchEnvironment&) -> Values {
    LowRank low(0);
    auto error_of = [&](const at::Tensor& gradient) {
      low.sum->Put(0, gradient, 1);
      return low.Error(at::empty({50, 40}), gradient);
    };
    Values errors = {error_of(low.matrix), error_of(at::zeros({50, 40})), error_of(low.matrix)};
    error_of(at::full({50, 40}, INFINITY));
    errors.push_back(error_of(low.matrix));
    errors.push_back(error_of(torch::randn({50, 1}).mm(torch::randn({1, 40}))));
    errors.push_back(error_of(low.matrix));
    return errors;
  });
  EXPECT_THAT(ValuesOf(outcome)[0], Each(::testing::Lt(1e-4)));
}

TEST(PowerSgd, WhatWasPutLastCountsAndNothingIsZeroInAnyLayout) {
  auto outcome = RunRanks(1, [](const LaunchEnvironment&) -> Values {
    LowRank low(1);
    Values values;
    for (int step = 0; step < 3; ++step) {
      low.sum->Put(0, at::ones({50, 40}), 1);
      low.sum->Put(0, low.matrix.t().contiguous().t(), 0.5);
      if (step == 2) low.sum->PutNothing(0);
      values.push_back(low.Error(at::empty({40, 50}).t(), low.matrix * (step == 2 ? 0 : 0.5)));
    }
    return values;
  });
  EXPECT_THAT(ValuesOf(outcome)[0], Each(::testing::Lt(1e-4)));
}

TEST(LocalSteps, OneStepOfPlainMeansIsDataParallelism) {
  // With SGD the mean of parameters after one step is the step of the mean gradient.
  const Trained each = TrainOn(3, {}, 0, 1);
  auto means = RunRanks(3, [](const LaunchEnvironment& environment) -> Values {
    const auto [x, y] = Samples(512, 1);
    torch::manual_seed(2);
    torch::nn::Sequential net(torch::nn::Linear(4, 64), torch::nn::ReLU(),
                              torch::nn::Linear(64, 64), torch::nn::ReLU(),
                              torch::nn::Linear(64, 4));
    std::vector<NamedTensor> parameters;
    for (const auto& one : net->named_parameters()) parameters.push_back({one.key(), one.value()});
    LocalSteps local(parameters, {}, MakeGlooCommunicator(environment),
                     {.steps = 1, .lr = 1, .momentum = 0});
    torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.1));
    torch::manual_seed(100);
    const at::Tensor mine = torch::randint(512, {64}).chunk(3)[environment.rank];
    torch::nn::functional::cross_entropy(net->forward(x.index_select(0, mine)),
                                         y.index_select(0, mine))
        .backward();
    optimizer.step();
    local.Step(1);
    double checksum = 0;
    for (const at::Tensor& one : net->parameters()) checksum += one.abs().sum().item<double>();
    return {checksum};
  });
  EXPECT_NEAR(ValuesOf(means)[0][0], each.checksum, 1e-4 * each.checksum);
}

TEST(LocalSteps, FollowTheOuterStepOfNesterovAndTheRanksWeights) {
  auto outcomes = RunRanks(2, [](const LaunchEnvironment& environment) -> Values {
    at::Tensor parameter = at::full({1}, 10, at::kDouble);
    at::Tensor mean = at::full({1}, 1.0 + environment.rank);
    at::Tensor count = at::full({1}, 5 + environment.rank, at::kLong);
    LocalSteps local({{"p", parameter}}, {{"mean", mean}, {"count", count}},
                     MakeGlooCommunicator(environment), {.steps = 2, .lr = 0.5, .momentum = 0.8});
    Values values;
    for (int step = 0; step < 5; ++step) {
      parameter -= 1 + environment.rank;              // rank 1 goes twice as far
      local.Step(environment.rank == 0 ? 1.0 : 3.0);  // and has three times the samples
      values.push_back(parameter.item<double>());
    }
    local.Synchronize();
    values.push_back(parameter.item<double>());
    values.push_back(mean.item<double>());
    values.push_back(static_cast<double>(count.item<int64_t>()));
    return values;
  });
  double a = 10, v = 0;
  std::vector<double> expected;
  for (double d : {2 * 1.75, 2 * 1.75, 1.75}) {
    v = 0.8 * v + d;
    a -= 0.5 * (d + 0.8 * v);
    expected.push_back(a);
  }
  for (const Values& values : ValuesOf(outcomes)) {
    EXPECT_NEAR(values[1], expected[0], 1e-12);
    EXPECT_NEAR(values[3], expected[1], 1e-12);
    EXPECT_NEAR(values[5], expected[2], 1e-12);
    EXPECT_EQ(values[6], 1.75);  // averaged by the same weights
    EXPECT_EQ(values[7], 5);
  }
}

}  // namespace
}  // namespace hpc::train
