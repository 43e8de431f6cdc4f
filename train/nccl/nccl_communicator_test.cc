// Tests the communicator over NCCL while all ranks live, against the stand-in.
#include "train/nccl/nccl_communicator.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <torch/csrc/autograd/autograd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "train/group/agreement.h"
#include "train/make_communicator.h"
#include "train/parallel/replica.h"
#include "train/parallel/step_agreement.h"
#include "train/sharded/sharded_optimizer.h"
#include "train/testing/fake_nccl_group.h"
#include "train/testing/values.h"

namespace hpc::train {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kLarge = 300'000;  // more than the stand-in shows at a time

class NcclCommunicatorTest : public ::testing::TestWithParam<int> {
 protected:
  // Returns what `body` returns on each rank.
  std::vector<Values> Run(const std::function<Values(Communicator&)>& body) {
    return ValuesOf(RunRanks(GetParam(), [&](const LaunchEnvironment& environment) {
      const auto group = MakeFakeNcclCommunicator(environment, HPC_FAKE_NCCL);
      return body(*group);
    }));
  }
};

TEST_P(NcclCommunicatorTest, AllReduceSumsAndFindsLeastAndGreatest) {
  const int ranks = GetParam();
  const double sum = ranks * (ranks - 1) / 2.0;
  for (at::ScalarType type : {at::kFloat, at::kDouble, at::kInt, at::kLong, at::kByte}) {
    EXPECT_THAT(Run([&](Communicator& group) {
                  at::Tensor sums = at::full({kLarge}, group.rank(), type);
                  at::Tensor least = sums.slice(0, 0, 3).clone(), most = least.clone();
                  auto one = group.AllReduce(sums, ReduceOp::kSum, {"sum", {}});
                  auto two = group.AllReduce(least, ReduceOp::kMin, {"least", {}});
                  group.AllReduce(most, ReduceOp::kMax, {"most", {}})->Wait();
                  two->Wait();
                  one->Wait();
                  one->Wait();  // a second Wait has the same result
                  EXPECT_TRUE(sums.eq(sums[0]).all().item<bool>());
                  return Flat({sums[kLarge - 1], least[2], most[0]});
                }),
                Each(ElementsAre(sum, 0, ranks - 1)))
        << c10::toString(type);
  }
}

TEST_P(NcclCommunicatorTest, ReduceScatterGivesEachRankItsPart) {
  const int ranks = GetParam();
  const auto values = Run([&](Communicator& group) {
    at::Tensor output = at::zeros({kLarge}), input = at::arange(ranks).repeat_interleave(kLarge);
    group.ReduceScatter(output, input.to(at::kFloat).add(1), ReduceOp::kSum, {"part", {}})->Wait();
    return Flat({output[0], output[kLarge - 1]});
  });
  for (int rank = 0; rank < ranks; ++rank) {
    EXPECT_THAT(values[rank], Each(ranks * (rank + 1.0)));
  }
}

TEST_P(NcclCommunicatorTest, AllGatherAndBroadcastTakeAnyType) {
  const int ranks = GetParam();
  for (at::ScalarType type : {at::kFloat, at::kHalf, at::kShort, at::kBool}) {
    EXPECT_THAT(Run([&](Communicator& group) {
                  at::Tensor all = at::zeros({2 * ranks}, type), sent = at::zeros({2}, type);
                  if (group.rank() == ranks - 1) sent.fill_(1);
                  group.AllGather(all, sent, {"all", {}})->Wait();
                  group.Broadcast(sent, ranks - 1, {"one", {}})->Wait();
                  return Flat({all.sum(), all[2 * ranks - 1], sent});
                }),
                Each(ElementsAre(2, 1, 1, 1)))
        << c10::toString(type);
  }
}

TEST_P(NcclCommunicatorTest, BarriersAndTextsGoBesideNccl) {
  EXPECT_THAT(Run([](Communicator& group) {
                group.Barrier({"met", {}})->Wait();
                return Values{static_cast<double>(GatherTexts(group, "x").size())};
              }),
              Each(ElementsAre(GetParam())));
}

INSTANTIATE_TEST_SUITE_P(Ranks, NcclCommunicatorTest, ::testing::Values(1, 2, 3));

TEST(NcclCommunicator, WhatItCannotReduceIsAnErrorBeforeItIsSent) {
  auto outcomes = RunRanks(2, [](const LaunchEnvironment& environment) -> Values {
    const auto group = MakeFakeNcclCommunicator(environment, HPC_FAKE_NCCL);
    try {
      group->AllReduce(at::zeros({2}, at::kShort), ReduceOp::kSum, {"steps", {}});
    } catch (const std::invalid_argument& error) {
      group->Barrier({"alive", {}})->Wait();
      throw;
    }
    return {};
  });
  for (const RankOutcome& outcome : outcomes) {
    EXPECT_THAT(outcome.error, HasSubstr("all_reduce 'steps': short[2] on cpu; NCCL reduces"));
  }
}

TEST(NcclCommunicator, ATensorOfAnotherDeviceIsRefused) {
  auto outcomes = RunRanks(1, [](const LaunchEnvironment& environment) -> Values {
    const auto group = MakeFakeNcclCommunicator(environment, HPC_FAKE_NCCL);
    const at::Tensor elsewhere = at::zeros({2}, at::TensorOptions(at::kMeta));
    group->AllReduce(elsewhere, ReduceOp::kSum, {"x", {}});
    return {};
  });
  EXPECT_THAT(outcomes[0].error, HasSubstr("is on meta, and this rank's group on cpu"));
}

TEST(NcclCommunicator, TensorsLiveUntilTheOperationIsDone) {
  auto outcomes = RunRanks(2, [](const LaunchEnvironment& environment) -> Values {
    const auto group = MakeFakeNcclCommunicator(environment, HPC_FAKE_NCCL);
    at::Tensor result = at::ones({1});
    PendingPtr last;
    for (int i = 0; i < 20; ++i) {
      // Nobody else keeps the tensor, and the next one would get its memory.
      group->AllReduce(at::full({100'000}, 7.0), ReduceOp::kSum, {"dropped", {}});
      last = group->AllReduce(result, ReduceOp::kSum, {"kept", {}});
    }
    last->Wait();
    return Flat({result});
  });
  EXPECT_THAT(ValuesOf(outcomes), Each(ElementsAre(1 << 20)));
}

TEST(NcclCommunicator, TensorsAreFreeOnceTheOperationWasWaitedFor) {
  auto outcomes = RunRanks(2, [](const LaunchEnvironment& environment) -> Values {
    const auto group = MakeFakeNcclCommunicator(environment, HPC_FAKE_NCCL);
    at::Tensor tensor = at::ones({1000});
    const PendingPtr pending = group->AllReduce(tensor, ReduceOp::kSum, {"sum", {}});
    pending->Wait();
    return {static_cast<double>(tensor.use_count())};
  });
  EXPECT_THAT(ValuesOf(outcomes), Each(ElementsAre(1)));
}

TEST(NcclCommunicator, ARankThatCannotSaysWhyToAll) {
  auto outcomes = RunRanks(3, [](const LaunchEnvironment& environment) -> Values {
    const bool lacks = environment.rank == 1;
    MakeFakeNcclCommunicator(environment, lacks ? "/nowhere/libnccl.so.2" : HPC_FAKE_NCCL);
    return {};
  });
  for (const RankOutcome& outcome : outcomes) {
    EXPECT_THAT(outcome.error, HasSubstr("rank 1: NCCL, which ranks with GPUs need, was not"));
    EXPECT_LT(outcome.took, std::chrono::seconds(10));
  }
}

TEST(NcclCommunicator, RanksWithDifferentVersionsAreToldSo) {
  auto outcomes = RunRanks(2, [](const LaunchEnvironment& environment) -> Values {
    MakeFakeNcclCommunicator(environment,
                             environment.rank == 0 ? HPC_FAKE_NCCL : HPC_FAKE_NCCL_OLD);
    return {};
  });
  for (const RankOutcome& outcome : outcomes) {
    EXPECT_EQ(outcome.error,
              "rank 1 differs from rank 0: it has NCCL 2.18.5 where rank 0 has NCCL 2.29.7");
  }
}

// Returns the parameters of two layers after some steps, whose gradients are reduced while backward
// runs.
Values Trained(const std::shared_ptr<Communicator>& group, int stage) {
  std::vector<NamedTensor> parameters;
  for (const char* name : {"one", "two"}) {
    const at::Tensor values = at::linspace(-1, 1, 400).view({20, 20}) * (name[0] == 'o' ? 1 : 2);
    parameters.push_back({name, values.clone().requires_grad_(true)});
  }
  ShardedOptimizer optimizer(Algorithm::kAdamW, {{parameters, {.lr = 1e-2}}}, group,
                             {.stage = stage, .first_bucket_bytes = 512, .bucket_bytes = 512});
  Replica replica(parameters, {}, group,
                  {.reducer = {.first_bucket_bytes = 512, .bucket_bytes = 512, .weighted = true},
                   .shard = optimizer.shard()});
  StepAgreement agreement(group);
  for (int step = 0; step < 5; ++step) {
    optimizer.ZeroGrad();
    replica.reducer().set_weight(group->rank() + 1);
    replica.BeforeForward(true);
    const at::Tensor input = at::full({4, 20}, 0.1 * (group->rank() + step + 1));
    const at::Tensor output =
        at::mm(at::tanh(at::mm(input, parameters[0].tensor)), parameters[1].tensor);
    replica.AfterForward({output});
    agreement.Begin(false, false);
    torch::autograd::backward({output.square().mean()}, {});
    agreement.End();
    optimizer.ClipGradNorm(0.5);
    optimizer.Step();
  }
  return Flat({parameters[0].tensor, parameters[1].tensor});
}

TEST(NcclCommunicator, TrainsAsGlooDoes) {
  for (int stage : {1, 2}) {
    auto outcomes = RunRanks(3, [&](const LaunchEnvironment& environment) -> Values {
      const Values over_gloo = Trained(MakeGlooCommunicator(environment), stage);
      const auto group = MakeFakeNcclCommunicator(environment, HPC_FAKE_NCCL, {.group = "nccl"});
      return {Difference(over_gloo, Trained(group, stage))};
    });
    EXPECT_THAT(ValuesOf(outcomes), Each(Each(::testing::Lt(1e-5)))) << "stage " << stage;
  }
}

TEST(MakeCommunicator, LocalRankChoosesTheGpu) {
  EXPECT_EQ(ChooseDevice("cuda", {.local_rank = 3}), at::Device(at::kCUDA, 3));
  EXPECT_EQ(ChooseDevice("cpu", {.local_rank = 3}), at::Device(at::kCPU));
  EXPECT_THROW(ChooseDevice("tpu", {}), std::invalid_argument);
}

TEST(MakeCommunicator, OneRankIsToldOfAGpuThatIsNotThere) {
  auto outcomes = RunRanks(1, [](const LaunchEnvironment& environment) -> Values {
    MakeCommunicator(environment, at::Device(at::kCPU))->Barrier({"alone", {}})->Wait();
    MakeCommunicator(environment, at::Device(at::kCUDA, 99));
    return {};
  });
  EXPECT_THAT(outcomes[0].error, HasSubstr("cuda:99 cannot be used: "));
}

TEST(NcclCommunicator, AGpuWhereThereIsNoneIsAnErrorOnAll) {
  auto outcomes = RunRanks(2, [](const LaunchEnvironment& environment) -> Values {
    MakeNcclCommunicator(environment, at::Device(at::kCUDA, 99));
    return {};
  });
  for (const RankOutcome& outcome : outcomes) {
    EXPECT_THAT(outcome.error, HasSubstr("rank 0: cuda:99 cannot be used: "));
  }
}

TEST(NcclCommunicator, RanksOnDifferentDevicesAreToldSo) {
  auto outcomes = RunRanks(2, [](const LaunchEnvironment& environment) -> Values {
    if (environment.rank == 0) {
      MakeGlooCommunicator(environment);
    } else {
      MakeNcclCommunicator(environment, at::Device(at::kCUDA, 0));
    }
    return {};
  });
  for (const RankOutcome& outcome : outcomes) {
    EXPECT_THAT(
        outcome.error,
        HasSubstr("rank 1 differs from rank 0: it works on cuda where rank 0 works on cpu"));
  }
}

}  // namespace
}  // namespace hpc::train
