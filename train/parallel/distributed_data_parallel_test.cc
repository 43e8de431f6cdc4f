// N ranks do the same as one rank with the whole batch, and as c10d's own reducer, over 100 steps.
#include "train/parallel/distributed_data_parallel.h"

#include <signal.h>
#include <torch/torch.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "train/group/gloo_communicator.h"
#include "train/group/lone_communicator.h"
#include "train/testing/oracle.h"
#include "train/testing/rank_processes.h"
#include "train/testing/values.h"

namespace hpc::train {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kSteps = 100;
constexpr double kTolerance = 2e-6;

// Has a convolution, a layer that is used twice under two names, and two heads, one of which may be
// idle.
struct NetImpl : torch::nn::Module {
  NetImpl() {
    conv = register_module("conv", torch::nn::Conv2d(1, 4, 3));
    twice = register_module("twice", torch::nn::Linear(36, 36));
    left = register_module("left", torch::nn::Linear(36, 10));
    right = register_module("right", torch::nn::Linear(36, 10));
    never = register_module("never", torch::nn::Linear(3, 3));
    again = register_module("again", twice);
  }
  at::Tensor forward(const at::Tensor& x, bool go_left, bool go_right) {
    at::Tensor h = torch::max_pool2d(torch::relu(conv(x)), 2).flatten(1);
    h = torch::tanh(again(torch::tanh(twice(h))));
    if (!go_right) return left(h);
    return go_left ? left(h) + right(h) : right(h);
  }
  torch::nn::Conv2d conv{nullptr};
  torch::nn::Linear twice{nullptr}, again{nullptr}, left{nullptr}, right{nullptr}, never{nullptr};
};
TORCH_MODULE(Net);

struct Plan {
  int per_rank = 4;     // samples of each rank in a step
  bool uneven = false;  // ranks have different numbers, and the last batch of ten is short
  int accumulate = 1;   // passes in a step
  bool unused = false;  // a head is idle in every third step, on every rank
};

// Returns the samples of `rank` in a pass. In a short pass the last rank has none.
int64_t SamplesOf(const Plan& plan, int rank, int ranks, int step) {
  if (!plan.uneven) return plan.per_rank;
  if (step % 10 == 9) return ranks - 1 - rank;
  return 1 + 2 * rank;
}

enum class How { kWhole, kOurs, kOracle };

// Returns the parameters after kSteps, of this rank of `ranks` or of one rank that has the batches
// of all.
Values Train(const LaunchEnvironment& environment, const Plan& plan, int ranks, How how) {
  torch::manual_seed(7);
  Net net;
  std::vector<at::Tensor> parameters;
  for (const at::Tensor& one : net->parameters()) {
    if (std::none_of(parameters.begin(), parameters.end(),
                     [&](const at::Tensor& other) { return other.is_same(one); })) {
      parameters.push_back(one);
    }
  }
  torch::optim::SGD optimizer(parameters, torch::optim::SGDOptions(0.01).momentum(0.9));
  std::shared_ptr<Communicator> group;
  std::unique_ptr<DistributedDataParallel<Net>> ours;
  std::unique_ptr<Oracle> oracle;
  if (how == How::kOurs) {
    group = MakeGlooCommunicator(environment);
    ours = std::make_unique<DistributedDataParallel<Net>>(
        net, group,
        DataParallelOptions{
            .reducer = {.first_bucket_bytes = 500, .bucket_bytes = 2048, .weighted = plan.uneven}});
  }
  if (how == How::kOracle) oracle = std::make_unique<Oracle>(environment, parameters);

  for (int step = 0; step < kSteps; ++step) {
    optimizer.zero_grad();
    for (int pass = 0; pass < plan.accumulate; ++pass) {
      const bool last = pass + 1 == plan.accumulate;
      int64_t whole = 0, begin = 0, mine = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        if (rank == environment.rank) begin = whole;
        whole += SamplesOf(plan, rank, ranks, step);
      }
      mine = how == How::kWhole ? whole : SamplesOf(plan, environment.rank, ranks, step);
      torch::manual_seed(1000 + step * 10 + pass);
      const at::Tensor x = torch::randn({whole, 1, 8, 8}).narrow(0, begin, mine);
      const at::Tensor y = torch::randint(10, {whole}, torch::kLong).narrow(0, begin, mine);
      const bool right = !plan.unused || step % 3 != 0;
      auto loss_of = [&](const at::Tensor& output) {
        at::Tensor loss = torch::nn::functional::cross_entropy(
            output, y, torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kSum));
        return loss / plan.accumulate;
      };
      if (how == How::kWhole) {
        (loss_of(net(x, true, right)) / whole).backward();
      } else if (how == How::kOurs) {
        if (plan.uneven) ours->set_weight(static_cast<double>(mine));
        std::optional<DistributedDataParallel<Net>::NoSync> local;
        if (!last) local.emplace(ours->reducer());
        if (mine == 0) {
          ours->SynchronizeGradients();
        } else {
          (loss_of((*ours)(x, true, right)) / mine).backward();
        }
      } else {
        if (last) oracle->BeforeForward();
        const at::Tensor output = net(x, true, right);
        if (last) oracle->AfterForward(output);
        (loss_of(output) * ranks / whole).backward();  // its mean is that of the ranks
      }
    }
    optimizer.step();
  }
  if (group != nullptr) group->Barrier({"end", {}})->Wait();
  return Flat(parameters);
}

class Exactness : public ::testing::TestWithParam<int> {
 protected:
  void Compare(const Plan& plan) {
    const int ranks = GetParam();
    auto whole = ValuesOf(RunRanks(1, [&](const LaunchEnvironment& environment) {
      return Train(environment, plan, ranks, How::kWhole);
    }));
    auto ours = ValuesOf(RunRanks(ranks, [&](const LaunchEnvironment& environment) {
      return Train(environment, plan, ranks, How::kOurs);
    }));
    auto oracle = ValuesOf(RunRanks(ranks, [&](const LaunchEnvironment& environment) {
      return Train(environment, plan, ranks, How::kOracle);
    }));
    EXPECT_THAT(ours, Each(ours[0])) << "ranks must have the same bits";
    EXPECT_LT(Difference(ours[0], whole[0]), kTolerance) << "against the whole batch";
    EXPECT_LT(Difference(ours[0], oracle[0]), kTolerance) << "against c10d::Reducer";
    RecordProperty("difference", std::to_string(Difference(ours[0], whole[0])));
  }
};

TEST_P(Exactness, SharedParameters) { Compare({}); }
TEST_P(Exactness, UnusedParameters) { Compare({.unused = true}); }
TEST_P(Exactness, Accumulation) { Compare({.accumulate = 3, .unused = true}); }
TEST_P(Exactness, WeightsAndUnevenEnds) { Compare({.uneven = true}); }

INSTANTIATE_TEST_SUITE_P(Ranks, Exactness, ::testing::Values(2, 3, 4));

// Runs a part of a model again in its backward pass, instead of keeping its results.
struct Recompute : torch::autograd::Function<Recompute> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& /*requires a gradient, that x may not*/,
                            const std::function<at::Tensor(at::Tensor)>* part) {
    at::AutoGradMode no_grad(false);
    context->save_for_backward({x});
    context->saved_data["part"] = reinterpret_cast<int64_t>(part);
    return (*part)(x);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    auto* part = reinterpret_cast<const std::function<at::Tensor(at::Tensor)>*>(
        context->saved_data["part"].toInt());
    at::Tensor x = context->get_saved_variables()[0].detach();
    x.requires_grad_(true);
    at::AutoGradMode grad(true);
    (*part)(x).backward(gradients[0]);
    return {x.grad(), at::Tensor(), at::Tensor()};
  }
};

// All of its parameters get their gradients in backward passes inside of the outer one; `twice`
// gets them two times.
struct RecomputedNetImpl : torch::nn::Module {
  RecomputedNetImpl() {
    first = register_module("first", torch::nn::Linear(8, 8));
    twice = register_module("twice", torch::nn::Linear(8, 8));
    part = [this](const at::Tensor& x) { return torch::tanh(twice(torch::tanh(first(x)))); };
  }
  at::Tensor forward(const at::Tensor& x, int times) {
    at::Tensor h = x;
    const at::Tensor dummy = torch::zeros({1}, torch::requires_grad());
    for (int i = 0; i < times; ++i) h = recompute ? Recompute::apply(h, dummy, &part) : part(h);
    return h;
  }
  bool recompute = true;
  torch::nn::Linear first{nullptr}, twice{nullptr};
  std::function<at::Tensor(at::Tensor)> part;
};
TORCH_MODULE(RecomputedNet);

Values TrainRecomputed(const LaunchEnvironment& environment, bool recompute, int steps,
                       const std::function<int(int)>& times, ReducerOptions options) {
  torch::manual_seed(3);
  RecomputedNet net;
  net->recompute = recompute;
  auto group = MakeGlooCommunicator(environment);
  DistributedDataParallel<RecomputedNet> model(net, group, {.reducer = options});
  torch::optim::SGD optimizer(net->parameters(), 0.1);
  for (int step = 0; step < steps; ++step) {
    torch::manual_seed(step * 10 + environment.rank);
    optimizer.zero_grad();
    model(torch::randn({4, 8}), times(step)).pow(2).mean().backward();
    optimizer.step();
  }
  group->Barrier({"end", {}})->Wait();
  const at::Tensor weight = net->twice->weight.detach().to(at::kDouble).view(-1);
  return Values(weight.data_ptr<double>(), weight.data_ptr<double>() + weight.numel());
}

TEST(DistributedDataParallel, RecomputedActivationsAreExact) {
  auto run = [](bool recompute, ReducerOptions options) {
    return ValuesOf(RunRanks(2, [&](const LaunchEnvironment& environment) {
      return TrainRecomputed(
          environment, recompute, 20, [](int) { return 2; }, options);
    }));
  };
  const ReducerOptions small = {.first_bucket_bytes = 1, .bucket_bytes = 1};
  auto recomputed = run(true, small);
  EXPECT_THAT(recomputed, Each(recomputed[0]));
  EXPECT_LT(Difference(recomputed[0], run(false, small)[0]), kTolerance);
}

TEST(DistributedDataParallel, AGradientThatComesTooLateIsAnErrorAndNeverLost) {
  auto run = [](bool overlap) {
    return RunRanks(2, [&](const LaunchEnvironment& environment) {
      return TrainRecomputed(environment, true, 4, [](int step) { return 1 + step; },
                             {.first_bucket_bytes = 1, .bucket_bytes = 1, .overlap = overlap});
    });
  };
  for (const RankOutcome& outcome : run(true)) {
    EXPECT_THAT(outcome.error, AllOf(HasSubstr("' got its gradient number 2 of one backward pass"),
                                     HasSubstr("set overlap to false")));
  }
  ValuesOf(run(false));
}

TEST(DistributedDataParallel, CommunicationBeginsWhileBackwardRuns) {
  // Notes what is reduced, and when.
  struct Noting : LoneCommunicator {
    PendingPtr AllReduce(at::Tensor tensor, ReduceOp op, Options options) override {
      notes.push_back(options.name);
      return LoneCommunicator::AllReduce(tensor, op, options);
    }
    std::vector<std::string> notes;
  };
  auto outcomes = RunRanks(1, [](const LaunchEnvironment&) -> Values {
    auto group = std::make_shared<Noting>();
    torch::nn::Sequential net(torch::nn::Linear(4, 4), torch::nn::Linear(4, 4));
    DistributedDataParallel<torch::nn::Sequential> model(
        net, group,
        {.reducer = {.first_bucket_bytes = 1,
                     .bucket_bytes = 100,
                     // Otherwise one rank alone sends nothing.
                     .compression = {.kind = Compression::kBf16}}});
    for (int step = 0; step < 2; ++step) {
      group->notes.clear();
      const at::Tensor h = net[0]->as<torch::nn::Linear>()->forward(torch::ones({1, 4}));
      h.register_hook([&](const at::Tensor&) { group->notes.push_back("half"); });
      const at::Tensor output = net[1]->as<torch::nn::Linear>()->forward(h);
      model.reducer().PrepareForward();
      model.reducer().WatchOutputs({output});
      output.sum().backward();
    }
    const auto half = std::find(group->notes.begin(), group->notes.end(), "half");
    return {static_cast<double>(half - group->notes.begin()),
            static_cast<double>(group->notes.end() - half)};
  });
  const Values counts = ValuesOf(outcomes)[0];
  EXPECT_GE(counts[0], 1) << "none was under way in the middle of the backward pass";
  EXPECT_GE(counts[1], 2) << "the first layer's cannot have been";
}

TEST(DistributedDataParallel, InitialParametersAndBuffersAreThoseOfRankZero) {
  auto outcomes = RunRanks(3, [](const LaunchEnvironment& environment) -> Values {
    torch::manual_seed(environment.rank);
    torch::nn::BatchNorm1d norm(2);
    norm->weight.data().fill_(5 + environment.rank);
    norm->running_mean.fill_(7 + environment.rank);
    auto group = MakeGlooCommunicator(environment);
    DistributedDataParallel<torch::nn::BatchNorm1d> model(norm, group);
    const double mean_at_start = norm->running_mean[0].item<double>();
    norm->running_mean.fill_(9 + environment.rank);
    {
      auto local = model.no_sync();
      model(torch::zeros({4, 2}));
    }
    const double mean_alone = norm->running_mean[0].item<double>();
    norm->running_mean.fill_(11 + environment.rank);
    norm->options.momentum(0.0);
    model(torch::zeros({4, 2}));
    norm->eval();
    if (environment.rank == 1) model(torch::zeros({4, 2}));  // it evaluates alone
    group->Barrier({"end", {}})->Wait();
    return {norm->weight[0].item<double>(), mean_at_start, mean_alone,
            norm->running_mean[0].item<double>()};
  });
  auto values = ValuesOf(outcomes);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_THAT(values[rank], ElementsAre(5, 7, ::testing::DoubleNear(0.9 * (9 + rank), 1e-5), 11));
  }
}

TEST(DistributedDataParallel, AModelThatDiffersIsNamedBeforeTheFirstStep) {
  auto outcomes = RunRanks(3, [](const LaunchEnvironment& environment) -> Values {
    torch::nn::Sequential net(torch::nn::Linear(4, environment.rank == 1 ? 5 : 4));
    DistributedDataParallel<torch::nn::Sequential> model(net, MakeGlooCommunicator(environment));
    return {};
  });
  for (const RankOutcome& outcome : outcomes) {
    EXPECT_EQ(outcome.error,
              "rank 1 differs from rank 0: it has parameter '0.weight' float[5, 4] where rank 0 "
              "has parameter '0.weight' float[4, 4]");
  }
}

TEST(DistributedDataParallel, ARankKilledInBackwardIsNamedByBackward) {
  auto outcomes = RunRanks(3, [](const LaunchEnvironment& environment) -> Values {
    torch::nn::Sequential net(torch::nn::Linear(64, 64), torch::nn::Linear(64, 64));
    auto group = MakeGlooCommunicator(environment);
    DistributedDataParallel<torch::nn::Sequential> model(net, group);
    for (int step = 0;; ++step) {
      const at::Tensor output = model(torch::ones({2, 64}));
      if (step == 3 && environment.rank == 2) {
        output.register_hook([](const at::Tensor&) { raise(SIGKILL); });
      }
      output.sum().backward();
    }
  });
  for (int rank : {0, 1}) {
    EXPECT_THAT(outcomes[rank].error,
                AllOf(HasSubstr("rank 2 never completed collective"), HasSubstr("'gradients 0'"),
                      HasSubstr("its process is gone")));
  }
}

TEST(DistributedDataParallel, ABackwardPassThatBrokeOffEndsAllRanks) {
  auto outcomes = RunRanks(2, [](const LaunchEnvironment& environment) -> Values {
    torch::nn::Sequential net(torch::nn::Linear(4, 4));
    DistributedDataParallel<torch::nn::Sequential> model(net, MakeGlooCommunicator(environment));
    for (int step = 0;; ++step) {
      at::Tensor x = torch::ones({2, 4}, torch::requires_grad());
      const at::Tensor output = model(x * 1);
      if (step == 1 && environment.rank == 1) {
        output.register_hook([](const at::Tensor&) { throw std::runtime_error("out of memory"); });
      }
      try {
        output.sum().backward();
      } catch (const CollectiveError&) {
        throw;
      } catch (const std::exception&) {  // goes on as if nothing had happened
      }
    }
  });
  for (const RankOutcome& outcome : outcomes) {
    EXPECT_THAT(outcome.error, HasSubstr("rank 1 aborted: a backward pass that reduces gradients "
                                         "ended early"));
  }
}

TEST(DistributedDataParallel, FindsTheTensorsInWhateverAModelReturns) {
  using Part = std::pair<at::Tensor, std::optional<at::Tensor>>;
  std::tuple<at::Tensor, std::vector<Part>> output;
  std::get<1>(output) = {Part(), {at::Tensor(), at::Tensor()}};
  std::vector<at::Tensor> tensors;
  AppendTensors(output, &tensors);
  EXPECT_EQ(tensors.size(), 4u);
}

TEST(DistributedDataParallel, AParameterThatIsTrainedLaterIsRefusedAndMayBeMadeAnew) {
  torch::nn::Sequential net(torch::nn::Linear(4, 4), torch::nn::Linear(4, 4));
  auto first = [&] { return net->named_parameters()["0.weight"]; };
  first().requires_grad_(false);
  const auto group = std::make_shared<LoneCommunicator>();
  {
    DistributedDataParallel<torch::nn::Sequential> model(net, group);
    model(torch::ones({2, 4})).sum().backward();
    first().requires_grad_(true);
    EXPECT_THAT(
        [&] {
          model(torch::ones({2, 4}));
        },
        ::testing::ThrowsMessage<std::invalid_argument>(
            HasSubstr("parameter '0.weight' requires a gradient now")));
  }
  DistributedDataParallel<torch::nn::Sequential> model(net, group);
  model(torch::ones({2, 4})).sum().backward();
  EXPECT_TRUE(first().grad().defined());
}

TEST(DistributedDataParallel, TheNextOneOfAModelMayBeMadeBeforeTheOneBeforeGoes) {
  using Model = DistributedDataParallel<torch::nn::Sequential>;
  torch::nn::Sequential net(torch::nn::Linear(4, 4));
  const auto group = std::make_shared<LoneCommunicator>();
  auto model = std::make_unique<Model>(net, group);
  model = std::make_unique<Model>(net, group);
  // Only a rank with the hooks sees gradients that it cannot take.
  const at::Tensor loss = (*model)(torch::ones({2, 4})).square().sum();
  EXPECT_THAT([&] { loss.backward({}, /*retain_graph=*/true, /*create_graph=*/true); },
              ::testing::ThrowsMessage<std::invalid_argument>(HasSubstr("is part of a graph")));
}

TEST(DistributedDataParallel, WhereNobodyHasABatchAllAreTold) {
  auto outcomes = RunRanks(2, [](const LaunchEnvironment& environment) -> Values {
    torch::nn::Sequential net(torch::nn::Linear(4, 4));
    DistributedDataParallel<torch::nn::Sequential> model(net, MakeGlooCommunicator(environment),
                                                         {.reducer = {.weighted = true}});
    model.set_weight(0);
    model.SynchronizeGradients();
    return {};
  });
  for (const RankOutcome& outcome : outcomes) {
    EXPECT_EQ(outcome.error, "all ranks have weight 0: nobody has a batch");
  }
}

}  // namespace
}  // namespace hpc::train
