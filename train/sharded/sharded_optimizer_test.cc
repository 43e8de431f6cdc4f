// A sharded optimizer does the same as an optimizer on every rank, whatever is trained.
#include "train/sharded/sharded_optimizer.h"

#include <torch/torch.h>

#include <iostream>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "train/group/gloo_communicator.h"
#include "train/group/lone_communicator.h"
#include "train/parallel/distributed_data_parallel.h"
#include "train/testing/rank_processes.h"
#include "train/testing/values.h"

namespace hpc::train {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

std::unique_ptr<torch::optim::Optimizer> MakeTorchs(Algorithm algorithm, const Hyperparameters& h) {
  const std::vector<torch::optim::OptimizerParamGroup> none;
  switch (algorithm) {
    case Algorithm::kSgd:
      return std::make_unique<torch::optim::SGD>(none, torch::optim::SGDOptions(h.lr)
                                                           .momentum(h.momentum)
                                                           .dampening(h.dampening)
                                                           .nesterov(h.nesterov)
                                                           .weight_decay(h.weight_decay));
    case Algorithm::kAdam:
      return std::make_unique<torch::optim::Adam>(none, torch::optim::AdamOptions(h.lr)
                                                            .betas({h.beta1, h.beta2})
                                                            .eps(h.eps)
                                                            .weight_decay(h.weight_decay));
    case Algorithm::kAdamW:
      return std::make_unique<torch::optim::AdamW>(none, torch::optim::AdamWOptions(h.lr)
                                                             .betas({h.beta1, h.beta2})
                                                             .eps(h.eps)
                                                             .weight_decay(h.weight_decay));
  }
  throw std::logic_error("no such algorithm");
}

// One of torch's optimizers for each group, so that groups may differ in everything.
class Torchs {
 public:
  Torchs(Algorithm algorithm, const std::vector<ParameterGroup>& groups) {
    for (const ParameterGroup& group : groups) {
      std::vector<at::Tensor> parameters;
      for (const NamedTensor& one : group.parameters) parameters.push_back(one.tensor);
      optimizers_.push_back(MakeTorchs(algorithm, group.hyperparameters));
      optimizers_.back()->add_param_group(torch::optim::OptimizerParamGroup(parameters));
    }
  }
  void ZeroGrad() {
    for (auto& one : optimizers_) one->zero_grad();
  }
  void Step(double lr_factor) {
    for (auto& one : optimizers_) {
      auto& options = one->param_groups()[0].options();
      const double lr = options.get_lr();
      options.set_lr(lr * lr_factor);
      one->step();
      options.set_lr(lr);
    }
  }

 private:
  std::vector<std::unique_ptr<torch::optim::Optimizer>> optimizers_;
};

// One random case; all ranks draw the same one.
struct Case {
  Algorithm algorithm;
  std::vector<ParameterGroup> groups;
  ShardedOptions options;
  ReducerOptions reducer;
  std::vector<int> weights;  // one for each rank
  int passes;                // how many in each step
};

Case Draw(unsigned seed, int ranks) {
  std::mt19937 random(seed);
  auto upto = [&](int most) { return static_cast<int>(random() % (most + 1)); };
  torch::manual_seed(seed);
  Case made;
  made.algorithm = static_cast<Algorithm>(upto(2));
  made.groups.resize(1 + upto(1));
  for (ParameterGroup& group : made.groups) {
    group.hyperparameters = {.lr = 0.01 * (1 + upto(3)),
                             .weight_decay = 0.1 * upto(1),
                             .momentum = 0.45 * upto(2),
                             .beta1 = 0.3 * upto(3),
                             .beta2 = 0.9 + 0.01 * upto(9)};
    group.hyperparameters.nesterov = group.hyperparameters.momentum > 0 && upto(1) == 1;
    for (int count = 1 + upto(5); count > 0; --count) {
      std::vector<int64_t> shape;
      for (int dimensions = upto(3); dimensions > 0; --dimensions) shape.push_back(1 + upto(8));
      const auto type = upto(3) == 0 ? at::kDouble : at::kFloat;
      group.parameters.push_back(
          {"p" + std::to_string(random()), torch::randn(shape, type).requires_grad_(true)});
    }
  }
  made.options = {.stage = 1 + upto(1),
                  .first_bucket_bytes = static_cast<size_t>(1 + upto(500)),
                  .bucket_bytes = static_cast<size_t>(1 + upto(4000)),
                  .offload = upto(1) == 1};
  made.reducer = {.weighted = upto(1) == 1, .overlap = upto(3) != 0};
  for (int rank = 0; rank < ranks; ++rank)
    made.weights.push_back(made.reducer.weighted ? upto(3) : 1);
  made.weights[upto(ranks - 1)] += made.reducer.weighted ? 1 : 0;  // so that somebody has a batch
  made.passes = 1 + upto(2);
  return made;
}

std::vector<NamedTensor> ParametersOf(const std::vector<ParameterGroup>& groups) {
  std::vector<NamedTensor> all;
  for (const ParameterGroup& group : groups) {
    all.insert(all.end(), group.parameters.begin(), group.parameters.end());
  }
  return all;
}

std::vector<ParameterGroup> CopyOf(std::vector<ParameterGroup> groups) {
  for (ParameterGroup& group : groups) {
    for (NamedTensor& one : group.parameters)
      one.tensor = one.tensor.detach().clone().requires_grad_(true);
  }
  return groups;
}

// Returns a loss that gives a gradient to every parameter that this rank uses in this pass.
at::Tensor LossOf(const std::vector<NamedTensor>& parameters, unsigned seed, int rank) {
  std::mt19937 random(seed);
  const bool idle = random() % 4 == 0;  // whether some parameters are idle, on all ranks
  std::vector<bool> unused(parameters.size());
  for (size_t i = 1; i < unused.size(); ++i) unused[i] = idle && random() % 2 == 0;
  random.seed(seed * 31 + rank);
  at::Tensor loss = at::zeros({}, at::kDouble);
  for (size_t i = 0; i < parameters.size(); ++i) {
    const double slope = static_cast<double>(random() % 100) / 50 - 1;
    if (unused[i] || (i > 0 && random() % 5 == 0)) continue;
    const at::Tensor p = parameters[i].tensor.to(at::kDouble);
    loss = loss + (p * slope + p * p * (0.2 + 0.1 * rank)).sum();
  }
  return loss;
}

void Backward(GradientReducer& reducer, const std::vector<NamedTensor>& parameters,
              const Case& made, unsigned seed, int rank) {
  for (int pass = 0; pass < made.passes; ++pass) {
    reducer.set_synchronized(pass + 1 == made.passes);
    if (made.reducer.weighted) reducer.set_weight(made.weights[rank]);
    if (reducer.synchronized()) reducer.PrepareForward();
    if (made.weights[rank] == 0) {
      if (reducer.synchronized()) reducer.SynchronizeGradients();
      continue;
    }
    const at::Tensor loss = LossOf(parameters, seed * 3 + pass, rank);
    reducer.WatchOutputs({loss});
    (loss * 1).backward();
  }
}

double Difference(const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].tensor.numel() == 0) continue;
    most = std::max(most, (a[i].tensor - b[i].tensor).abs().max().item<double>());
  }
  return most;
}

// Gives all values of the parameters after some steps. Throws a text that says what is wrong.
void RunCase(const std::shared_ptr<Communicator>& group, unsigned seed, Values* values) {
  Case made = Draw(seed, group->size());
  const std::vector<NamedTensor> ours = ParametersOf(made.groups);
  const std::vector<ParameterGroup> copies = CopyOf(made.groups);
  const std::vector<NamedTensor> theirs = ParametersOf(copies);
  ShardedOptimizer optimizer(made.algorithm, made.groups, group, made.options);
  GradientReducer reducer(ours, group, made.reducer, optimizer.shard());
  Torchs torchs(made.algorithm, copies);
  GradientReducer their_reducer(theirs, group, made.reducer);
  for (unsigned step = 0; step < 8; ++step) {
    const double lr_factor = 1 + 0.5 * (step % 3);
    optimizer.ZeroGrad();
    torchs.ZeroGrad();
    Backward(reducer, ours, made, seed * 100 + step, group->rank());
    Backward(their_reducer, theirs, made, seed * 100 + step, group->rank());
    for (size_t i = 0; i < optimizer.groups(); ++i) {
      optimizer.hyperparameters(i).lr = copies[i].hyperparameters.lr * lr_factor;
    }
    optimizer.Step();
    torchs.Step(lr_factor);
    const double difference = Difference(ours, theirs);
    if (!(difference < 1e-5)) {
      throw std::runtime_error("seed " + std::to_string(seed) + ", step " + std::to_string(step) +
                               ", rank " + std::to_string(group->rank()) + ": off by " +
                               std::to_string(difference));
    }
  }
  for (const NamedTensor& one : ours) {
    const at::Tensor flat = one.tensor.detach().to(at::kDouble).contiguous().view(-1);
    values->insert(values->end(), flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel());
  }
}

TEST(ShardedOptimizer, IsTheSameOptimizerOnEveryRankInEveryRandomCase) {
  const unsigned first = std::random_device()() % 1000000;
  constexpr unsigned kCases = 16;
  std::cout << "seeds from " << first << "\n";
  for (int ranks : {1, 2, 3, 4}) {
    auto values = ValuesOf(RunRanks(ranks, [&](const LaunchEnvironment& environment) -> Values {
      auto group = MakeGlooCommunicator(environment, {.deadline = std::chrono::seconds(60)});
      Values all;
      for (unsigned seed = first; seed < first + kCases; ++seed) RunCase(group, seed, &all);
      group->Barrier({"end", {}})->Wait();
      return all;
    }));
    EXPECT_THAT(values, Each(values[0])) << "ranks must have the same bits";
  }
}

using Net = torch::nn::Sequential;

Net MakeNet() {
  torch::manual_seed(11);
  return Net(torch::nn::Conv2d(1, 4, 3), torch::nn::Tanh(), torch::nn::Flatten(),
             torch::nn::Linear(144, 30), torch::nn::Tanh(), torch::nn::Linear(30, 10));
}

at::Tensor BatchLoss(const at::Tensor& output, const at::Tensor& labels) {
  return torch::nn::functional::cross_entropy(output, labels);
}

// Trains data parallel, with clipping; stage 0 is torch's optimizer on every rank.
Values Train(const LaunchEnvironment& environment, Algorithm algorithm, int stage, int steps) {
  Net net = MakeNet();
  auto group = MakeGlooCommunicator(environment);
  const std::vector<ParameterGroup> groups = {
      {Named(net->named_parameters()), {.lr = 0.01, .weight_decay = 0.01, .momentum = 0.9}}};
  std::unique_ptr<ShardedOptimizer> ours;
  std::unique_ptr<Torchs> torchs;
  DataParallelOptions options = {.reducer = {.first_bucket_bytes = 500, .bucket_bytes = 5000}};
  if (stage == 0) {
    torchs = std::make_unique<Torchs>(algorithm, groups);
  } else {
    ours = std::make_unique<ShardedOptimizer>(
        algorithm, groups, group,
        ShardedOptions{.stage = stage, .first_bucket_bytes = 500, .bucket_bytes = 5000});
    options.shard = ours->shard();
  }
  DistributedDataParallel<Net> model(net, group, options);
  for (int step = 0; step < steps; ++step) {
    torch::manual_seed(100 + step * 10 + environment.rank);
    const at::Tensor x = torch::randn({4, 1, 8, 8});
    const at::Tensor y = torch::randint(10, {4}, torch::kLong);
    if (ours) {
      ours->ZeroGrad();
    } else {
      torchs->ZeroGrad();
    }
    BatchLoss(model(x), y).backward();
    if (ours) {
      ours->ClipGradNorm(0.5);
      ours->Step();
    } else {
      torch::nn::utils::clip_grad_norm_(net->parameters(), 0.5);
      torchs->Step(1);
    }
  }
  group->Barrier({"end", {}})->Wait();
  return Flat(net->parameters());
}

TEST(ShardedOptimizer, BothStagesEqualDataParallelAfterAHundredSteps) {
  for (Algorithm algorithm : {Algorithm::kSgd, Algorithm::kAdamW}) {
    for (int ranks : {2, 4}) {
      auto run = [&](int stage) {
        return ValuesOf(RunRanks(ranks, [&](const LaunchEnvironment& environment) {
          return Train(environment, algorithm, stage, 100);
        }));
      };
      const auto plain = run(0);
      for (int stage : {1, 2}) {
        const auto sharded = run(stage);
        EXPECT_THAT(sharded, Each(sharded[0])) << "ranks must have the same bits";
        ASSERT_EQ(sharded[0].size(), plain[0].size());
        double most = 0;
        for (size_t i = 0; i < plain[0].size(); ++i) {
          most = std::max(most, std::abs(sharded[0][i] - plain[0][i]));
        }
        // Adam needs a larger tolerance, since it divides by the root of what may be a tiny
        // gradient's square.
        EXPECT_LT(most, algorithm == Algorithm::kSgd ? 2e-6 : 5e-5)
            << "stage " << stage << " on " << ranks << " ranks";
      }
    }
  }
}

TEST(ShardedOptimizer, StatesTakeAnEqualPartOfTheMemory) {
  constexpr int kRanks = 3;
  auto outcomes = RunRanks(kRanks, [](const LaunchEnvironment& environment) -> Values {
    auto group = MakeGlooCommunicator(environment);
    Net net = MakeNet();
    ShardedOptimizer optimizer(Algorithm::kAdamW, {{Named(net->named_parameters()), {}}}, group,
                               {.stage = 2});
    const size_t before = optimizer.StateBytes();
    DistributedDataParallel<Net> model(net, group, {.shard = optimizer.shard()});
    model(torch::zeros({1, 1, 8, 8})).sum().backward();
    double gradients = 0;
    for (const at::Tensor& one : net->parameters()) gradients += one.grad().defined() ? 1 : 0;
    optimizer.Step();
    int64_t elements = 0;
    for (const at::Tensor& one : net->parameters()) elements += one.numel();
    double own = 0;
    for (const at::Tensor& one : optimizer.OwnGradients()) own += static_cast<double>(one.numel());
    group->Barrier({"end", {}})->Wait();
    return {static_cast<double>(before), static_cast<double>(optimizer.StateBytes()),
            static_cast<double>(elements), gradients, own};
  });
  for (const Values& values : ValuesOf(outcomes)) {
    const double part = std::ceil(values[2] / kRanks);
    EXPECT_EQ(values[0], 0) << "before the first step";
    EXPECT_LE(values[1], 2 * part * 4 + 6 * 4);
    EXPECT_GT(values[1], 2 * (part - kRanks) * 4);
    EXPECT_EQ(values[3], 0) << "stage 2 keeps no gradients but its own";
    EXPECT_LE(values[4], part);
  }
}

TEST(ShardedOptimizer, TheNormIsThatOfAllGradientsAndTheyAreScaledToIt) {
  for (int stage : {1, 2}) {
    auto outcomes = RunRanks(3, [&](const LaunchEnvironment& environment) -> Values {
      auto group = MakeGlooCommunicator(environment);
      const NamedTensor a = {"a", torch::zeros({5}).requires_grad_(true)};
      const NamedTensor b = {"b", torch::zeros({4}).requires_grad_(true)};
      ShardedOptimizer optimizer(Algorithm::kSgd, {{{a}, {.lr = 1}}, {{b}, {.lr = 1}}}, group,
                                 {.stage = stage});
      GradientReducer reducer({a, b}, group, {}, optimizer.shard());
      auto step = [&](double slope, double max_norm) {
        optimizer.ZeroGrad();
        const at::Tensor loss = (a.tensor.sum() + b.tensor.sum()) * slope;
        reducer.WatchOutputs({loss});
        (loss * 1).backward();
        return optimizer.ClipGradNorm(max_norm);
      };
      const double within = step(2, 7);
      const double clipped = step(2, 3);
      const double after = optimizer.ClipGradNorm(100);
      optimizer.Step();
      const double infinite = step(INFINITY, 3);
      group->Barrier({"end", {}})->Wait();
      return {within,
              clipped,
              after,
              a.tensor[4].item<double>(),
              b.tensor[0].item<double>(),
              std::isinf(infinite) ? 1.0 : 0.0};
    });
    for (const Values& values : ValuesOf(outcomes)) {
      using ::testing::DoubleNear;
      EXPECT_THAT(values, ::testing::ElementsAre(DoubleNear(6, 1e-5), DoubleNear(6, 1e-5),
                                                 DoubleNear(3, 1e-5), DoubleNear(-1, 1e-5),
                                                 DoubleNear(-1, 1e-5), 1));
    }
  }
}

TEST(ShardedOptimizer, ARankWithoutAShareClipsWithTheOthers) {
  auto outcomes = RunRanks(2, [&](const LaunchEnvironment& environment) -> Values {
    auto group = MakeGlooCommunicator(environment);
    const at::Tensor only = torch::zeros({1}).requires_grad_(true);
    ShardedOptimizer optimizer(Algorithm::kSgd, {{{{"only", only}}, {.lr = 1}}}, group);
    only.mutable_grad() = torch::full({1}, 8.0);
    const double norm = optimizer.ClipGradNorm(2);
    optimizer.Step();
    group->Barrier({"end", {}})->Wait();
    return {norm, only.item<double>()};
  });
  using ::testing::DoubleNear;
  EXPECT_THAT(ValuesOf(outcomes),
              Each(::testing::ElementsAre(DoubleNear(8, 1e-5), DoubleNear(-2, 1e-5))));
}

TEST(ShardedOptimizer, GradientsOfPassesThatReduceAddUpUntilTheyAreZeroed) {
  auto outcomes = RunRanks(2, [](const LaunchEnvironment& environment) -> Values {
    auto group = MakeGlooCommunicator(environment);
    const NamedTensor a = {"a", torch::zeros({3}).requires_grad_(true)};
    ShardedOptimizer optimizer(Algorithm::kSgd, {{{a}, {.lr = 1}}}, group, {.stage = 2});
    GradientReducer reducer({a}, group, {}, optimizer.shard());
    for (int pass = 0; pass < 2; ++pass) {
      const at::Tensor loss = a.tensor.sum() * (1 + environment.rank);
      reducer.WatchOutputs({loss});
      (loss * 1).backward();
    }
    optimizer.Step();
    const double after_two = a.tensor[2].item<double>();
    optimizer.ZeroGrad();
    optimizer.Step();
    group->Barrier({"end", {}})->Wait();
    return {after_two, a.tensor[2].item<double>()};
  });
  EXPECT_THAT(ValuesOf(outcomes), Each(::testing::ElementsAre(-3, -3)));
}

TEST(ShardedOptimizer, StageTwoReducesWhileTheBackwardPassRuns) {
  // Notes what is reduced, and when.
  struct Noting : LoneCommunicator {
    PendingPtr ReduceScatter(at::Tensor output, at::Tensor input, ReduceOp op,
                             Options options) override {
      notes.push_back(options.name);
      return LoneCommunicator::ReduceScatter(output, input, op, options);
    }
    std::vector<std::string> notes;
  };
  auto outcomes = RunRanks(1, [](const LaunchEnvironment&) -> Values {
    auto group = std::make_shared<Noting>();
    const NamedTensor first = {"first", torch::ones({8}).requires_grad_(true)};
    const NamedTensor second = {"second", torch::ones({8}).requires_grad_(true)};
    ShardedOptimizer optimizer(Algorithm::kSgd, {{{first, second}, {}}}, group,
                               {.stage = 2, .first_bucket_bytes = 1, .bucket_bytes = 1});
    GradientReducer reducer({first, second}, group, {}, optimizer.shard());
    for (int step = 0; step < 2; ++step) {
      group->notes.clear();
      const at::Tensor h = torch::tanh(first.tensor);
      h.register_hook([&](const at::Tensor&) { group->notes.push_back("half"); });
      const at::Tensor output = (h * second.tensor).sum();
      reducer.WatchOutputs({output});
      (output * 1).backward();
    }
    const auto half = std::find(group->notes.begin(), group->notes.end(), "half");
    return {static_cast<double>(half - group->notes.begin()),
            static_cast<double>(group->notes.end() - half)};
  });
  EXPECT_THAT(ValuesOf(outcomes)[0], ::testing::ElementsAre(1, 2));
}

TEST(ShardedOptimizer, StatesThatWereLoadedGoOnAsIfNothingHadBeen) {
  auto outcomes = RunRanks(2, [](const LaunchEnvironment& environment) -> Values {
    auto group = MakeGlooCommunicator(environment);
    Values values;
    for (Algorithm algorithm : {Algorithm::kSgd, Algorithm::kAdamW}) {
      const NamedTensor a = {"a", torch::ones({7}).requires_grad_(true)};
      const NamedTensor never = {"never", torch::ones({2}).requires_grad_(true)};
      auto make = [&] {
        return std::make_unique<ShardedOptimizer>(
            algorithm, std::vector<ParameterGroup>{{{a, never}, {.lr = 0.1, .momentum = 0.9}}},
            group);
      };
      auto step = [&](ShardedOptimizer& optimizer) {
        a.tensor.mutable_grad() = torch::arange(7).to(torch::kFloat) + 1;
        optimizer.Step();
      };
      auto before = make();
      step(*before);
      step(*before);
      auto after = make();
      after->LoadStates([&](ShardedOptimizer::StateSlice& wanted) {
        for (const auto& one : before->States()) {
          if (one.parameter != wanted.parameter || one.state != wanted.state) continue;
          if (one.begin != wanted.begin) throw std::logic_error("another slice");
          wanted.values.copy_(one.values);
          return true;
        }
        return false;
      });
      const at::Tensor here = a.tensor.detach().clone();
      step(*before);
      const at::Tensor expected = a.tensor.detach().clone();
      a.tensor.data().copy_(here);
      step(*after);
      values.push_back((expected - a.tensor).abs().max().item<double>());
    }
    group->Barrier({"end", {}})->Wait();
    return values;
  });
  EXPECT_THAT(ValuesOf(outcomes), Each(Each(0)));
}

// Returns what both of two ranks throw while they make an optimizer.
std::vector<std::string> ErrorsOf(
    const std::function<std::vector<ParameterGroup>(int rank)>& groups, ShardedOptions options) {
  auto outcomes = RunRanks(2, [&](const LaunchEnvironment& environment) -> Values {
    ShardedOptimizer optimizer(Algorithm::kAdam, groups(environment.rank),
                               MakeGlooCommunicator(environment), options);
    return {};
  });
  return {outcomes[0].error, outcomes[1].error};
}

TEST(ShardedOptimizer, WhatIsNotPossibleOrDiffersIsSaidOnAllRanks) {
  auto a = [] { return NamedTensor{"a", torch::ones({2, 3}).requires_grad_(true)}; };
  EXPECT_THAT(ErrorsOf(
                  [&](int) {
                    return std::vector<ParameterGroup>{{{a()}, {}}};
                  },
                  {.stage = 3}),
              Each("stage 3 of ZeRO is not offered, but 1 and 2"));
  EXPECT_THAT(ErrorsOf(
                  [&](int rank) {
                    return std::vector<ParameterGroup>{{{a()}, {.lr = rank == 0 ? 0.1 : 0.2}}};
                  },
                  {}),
              Each(HasSubstr("rank 1 differs from rank 0: it has group of parameters lr=0.2")));
  EXPECT_THAT(
      ErrorsOf(
          [&](int rank) {
            const at::Tensor odd = torch::ones({3, 2}).t().detach().requires_grad_(true);
            return std::vector<ParameterGroup>{{{rank == 1 ? NamedTensor{"a", odd} : a()}, {}}};
          },
          {}),
      Each(HasSubstr("rank 1 differs from rank 0: it has a fault: parameter 'a' is not "
                     "contiguous")));
  EXPECT_THAT(ErrorsOf(
                  [&](int) {
                    const NamedTensor shared = a();
                    return std::vector<ParameterGroup>{{{shared}, {}}, {{shared}, {}}};
                  },
                  {}),
              Each("parameter 'a' is in two groups"));
  EXPECT_THAT(ErrorsOf(
                  [&](int) {
                    return std::vector<ParameterGroup>{{{a()}, {.beta1 = 1}}};
                  },
                  {}),
              Each(HasSubstr("hyperparameters that are not possible")));
}

TEST(ShardedOptimizer, AModelOfOtherParametersIsRefused) {
  auto outcomes = RunRanks(1, [](const LaunchEnvironment&) -> Values {
    auto group = std::make_shared<LoneCommunicator>();
    Net net = MakeNet();
    auto some = Named(net->named_parameters());
    some.pop_back();
    ShardedOptimizer optimizer(Algorithm::kSgd, {{some, {}}}, group, {.stage = 2});
    DistributedDataParallel<Net> model(net, group, {.shard = optimizer.shard()});
    return {};
  });
  EXPECT_EQ(outcomes[0].error,
            "parameter '5.bias' requires a gradient, and is none of the optimizer's");
}

TEST(ShardedOptimizer, WhatWouldTrainNothingOrHarmIsRefused) {
  auto outcomes = RunRanks(1, [](const LaunchEnvironment&) -> Values {
    auto group = std::make_shared<LoneCommunicator>();
    Net net = MakeNet();
    ShardedOptimizer optimizer(Algorithm::kSgd, {{Named(net->named_parameters()), {}}}, group,
                               {.stage = 2});
    for (const NamedTensor& one : Named(net->named_parameters())) {
      at::Tensor parameter = one.tensor;
      parameter.mutable_grad() = torch::ones_like(parameter);
    }
    EXPECT_THROW(optimizer.ClipGradNorm(-1), std::invalid_argument);
    EXPECT_THROW(optimizer.ClipGradNorm(NAN), std::invalid_argument);
    optimizer.Step();  // DistributedDataParallel was not given the shard
    return {};
  });
  EXPECT_THAT(outcomes[0].error, HasSubstr("was not reduced into the shard of stage 2"));
}

TEST(ShardedOptimizer, ShardsAreNotCompressed) {
  auto outcomes = RunRanks(1, [](const LaunchEnvironment&) -> Values {
    auto group = std::make_shared<LoneCommunicator>();
    Net net = MakeNet();
    ShardedOptimizer optimizer(Algorithm::kSgd, {{Named(net->named_parameters()), {}}}, group,
                               {.stage = 2});
    DistributedDataParallel<Net> model(
        net, group,
        {.reducer = {.compression = {.kind = Compression::kBf16}}, .shard = optimizer.shard()});
    return {};
  });
  EXPECT_EQ(outcomes[0].error, "gradients that are reduced into shards are not compressed");
}

}  // namespace
}  // namespace hpc::train
