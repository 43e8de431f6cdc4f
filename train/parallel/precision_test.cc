// Tests autocast, scaled losses, and recomputed activations.
#include "train/parallel/precision.h"

#include <torch/torch.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "train/group/gloo_communicator.h"
#include "train/group/lone_communicator.h"
#include "train/parallel/distributed_data_parallel.h"
#include "train/parallel/recompute.h"
#include "train/parallel/step_agreement.h"
#include "train/testing/rank_processes.h"

namespace hpc::train {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

TEST(Autocast, ComputesInTheNarrowTypeWhileItLives) {
  auto outcome = RunRanks(1, [](const LaunchEnvironment&) -> Values {
    torch::nn::Linear layer(4, 4);
    const at::Tensor x = torch::ones({2, 4});
    auto type = [&] { return static_cast<double>(layer(x).scalar_type() == at::kBFloat16); };
    Values narrow = {type()};
    {
      Autocast autocast(Precision::kBf16, at::kCPU);
      narrow.push_back(type());
      { Autocast inner(Precision::kFp32, at::kCPU); }
      narrow.push_back(type());
    }
    narrow.push_back(type());
    return narrow;
  });
  EXPECT_THAT(ValuesOf(outcome)[0], ElementsAre(0, 1, 1, 0));
}

TEST(LossScaler, AllRanksLeaveOutAStepThatOneRankCannotTake) {
  auto outcomes = RunRanks(3, [](const LaunchEnvironment& environment) -> Values {
    at::Tensor parameter = at::ones({4}).requires_grad_(true);
    LossScaler scaler(MakeGlooCommunicator(environment), {.initial = 1024, .growth_interval = 2});
    Values values;
    for (int step = 0; step < 5; ++step) {
      parameter.mutable_grad() = at::Tensor();
      scaler.Scale((parameter * 3).sum()).backward();
      if (step == 1 && environment.rank == 1) parameter.mutable_grad()[2] = INFINITY;
      values.push_back(scaler.Unscale({parameter.grad()}) ? 1 : 0);
      values.push_back(scaler.scale());
      if (environment.rank != 1 || step != 1) values.push_back(parameter.grad()[0].item<double>());
    }
    if (environment.rank == 1) values.insert(values.begin() + 5, 3);
    return values;
  });
  EXPECT_THAT(ValuesOf(outcomes),
              Each(ElementsAre(1, 1024, 3, 0, 512, 3, 1, 512, 3, 1, 1024, 3, 1, 1024, 3)));
}

TEST(StepAgreement, WhatOneRankSaysAllKnow) {
  auto outcomes = RunRanks(3, [](const LaunchEnvironment& environment) -> Values {
    StepAgreement agreement(MakeGlooCommunicator(environment));
    Values values;
    for (int step = 0; step < 3; ++step) {
      agreement.Begin(step == 1 && environment.rank == 2, step == 2 && environment.rank == 1);
      const StepAgreement::Outcome outcome = agreement.End();
      values.push_back(outcome.stop);
      values.push_back(outcome.bad_loss_of.value_or(-1));
    }
    return values;
  });
  EXPECT_THAT(ValuesOf(outcomes), Each(ElementsAre(0, -1, 1, -1, 0, 1)));
}

// Returns the gradients of a net with dropout, whose middle is recomputed or not, and then the next
// random number.
Values GradientsOf(std::shared_ptr<Communicator> group, bool recompute, Precision precision) {
  torch::manual_seed(4);
  torch::nn::Sequential middle(torch::nn::Linear(16, 32), torch::nn::Dropout(0.5),
                               torch::nn::Tanh(), torch::nn::Linear(32, 16));
  torch::nn::Linear first(8, 16), last(16, 1);
  std::vector<NamedTensor> parameters;
  auto add = [&](const std::string& name, const torch::nn::Module& module) {
    for (const auto& one : module.named_parameters()) {
      parameters.push_back({name + one.key(), one.value()});
    }
  };
  add("first.", *first);
  add("middle.", *middle);
  add("last.", *last);
  GradientReducer reducer(parameters, group, {.first_bucket_bytes = 1, .bucket_bytes = 1});
  Values values;
  for (int step = 0; step < 3; ++step) {
    for (NamedTensor& one : parameters) one.tensor.mutable_grad() = at::Tensor();
    reducer.PrepareForward();
    at::Tensor loss;
    {
      Autocast autocast(precision, at::kCPU);
      auto part = [middle](const at::Tensor& h) mutable { return middle->forward(h); };
      at::Tensor h = first(torch::randn({4, 8}));
      // bf16 has one use only. Where one cast serves two uses, their gradients are added in bf16,
      // which gives other bits.
      const int uses = precision == Precision::kFp32 ? 2 : 1;
      for (int use = 0; use < uses; ++use) h = recompute ? Recompute(part, h) : part(h);
      h = last(torch::dropout(h, 0.2, true));
      reducer.WatchOutputs({h});
      loss = h.to(at::kFloat).pow(2).mean();
    }
    loss.backward();
    for (const NamedTensor& one : parameters) {
      const at::Tensor flat = one.tensor.grad().to(at::kDouble).reshape(-1).contiguous();
      values.insert(values.end(), flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel());
    }
  }
  values.push_back(torch::rand({1}).item<double>());
  return values;
}

TEST(Recompute, GradientsWithDropoutHaveTheSameBits) {
  for (Precision precision : {Precision::kFp32, Precision::kBf16}) {
    auto run = [&](bool recompute) {
      return ValuesOf(RunRanks(1, [&](const LaunchEnvironment&) {
        return GradientsOf(std::make_shared<LoneCommunicator>(), recompute, precision);
      }));
    };
    const std::vector<Values> kept = run(false);
    EXPECT_GT(kept[0].size(), 1000);
    EXPECT_EQ(run(true), kept);
  }
}

TEST(Recompute, GradientsAreReducedOverRanks) {
  auto run = [&](bool recompute) {
    return ValuesOf(RunRanks(2, [&](const LaunchEnvironment& environment) {
      return GradientsOf(MakeGlooCommunicator(environment), recompute, Precision::kFp32);
    }));
  };
  const std::vector<Values> kept = run(false);
  EXPECT_EQ(run(true), kept);
}

}  // namespace
}  // namespace hpc::train
