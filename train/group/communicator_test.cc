// Tests the communicators while all ranks live.
#include "train/group/communicator.h"

#include <ATen/Functions.h>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "train/group/gloo_communicator.h"
#include "train/net/sockets.h"
#include "train/testing/rank_processes.h"

namespace hpc::train {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Values ToValues(const at::Tensor& tensor) {
  const at::Tensor doubles = tensor.to(at::kDouble).contiguous().view(-1);
  return Values(doubles.data_ptr<double>(), doubles.data_ptr<double>() + doubles.numel());
}

at::Tensor Counting(int64_t n, int from, at::ScalarType type = at::kFloat) {
  return at::arange(from, from + n, at::TensorOptions(type));
}

class CommunicatorTest : public ::testing::TestWithParam<int> {};

TEST_P(CommunicatorTest, AllReduceSums) {
  const int ranks = GetParam();
  for (at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf, at::kLong}) {
    auto outcomes = RunRanks(ranks, [&](const LaunchEnvironment& environment) {
      auto group = MakeGlooCommunicator(environment);
      at::Tensor tensor = Counting(3, group->rank(), type);
      group->AllReduce(tensor, ReduceOp::kSum, {"sum", {}})->Wait();
      return ToValues(tensor);
    });
    const double ranks_before = ranks * (ranks - 1) / 2.0;
    EXPECT_THAT(ValuesOf(outcomes),
                Each(ElementsAre(ranks_before, ranks_before + ranks, ranks_before + 2 * ranks)))
        << c10::toString(type);
  }
}

TEST_P(CommunicatorTest, AllReduceFindsLeastAndGreatest) {
  auto outcomes = RunRanks(GetParam(), [&](const LaunchEnvironment& environment) {
    auto group = MakeGlooCommunicator(environment);
    at::Tensor least = Counting(1, group->rank()), greatest = Counting(1, group->rank());
    auto first = group->AllReduce(least, ReduceOp::kMin, {"least", {}});
    group->AllReduce(greatest, ReduceOp::kMax, {"greatest", {}})->Wait();
    first->Wait();
    return ToValues(at::cat({least, greatest}));
  });
  EXPECT_THAT(ValuesOf(outcomes), Each(ElementsAre(0, GetParam() - 1)));
}

TEST_P(CommunicatorTest, ReduceScatterGivesEachRankItsPart) {
  const int ranks = GetParam();
  auto outcomes = RunRanks(ranks, [&](const LaunchEnvironment& environment) {
    auto group = MakeGlooCommunicator(environment);
    at::Tensor output = at::zeros({2});
    group->ReduceScatter(output, Counting(2 * ranks, group->rank()), ReduceOp::kSum, {"part", {}})
        ->Wait();
    return ToValues(output);
  });
  auto values = ValuesOf(outcomes);
  const double ranks_before = ranks * (ranks - 1) / 2.0;
  for (int rank = 0; rank < ranks; ++rank) {
    EXPECT_THAT(values[rank], ElementsAre(ranks_before + 2 * rank * ranks,
                                          ranks_before + (2 * rank + 1) * ranks));
  }
}

TEST_P(CommunicatorTest, AllGatherGathersInOrderOfRanks) {
  const int ranks = GetParam();
  auto outcomes = RunRanks(ranks, [&](const LaunchEnvironment& environment) {
    auto group = MakeGlooCommunicator(environment);
    at::Tensor output = at::zeros({2 * ranks});
    group->AllGather(output, Counting(2, 2 * group->rank()), {"all", {}})->Wait();
    return ToValues(output);
  });
  Values all;
  for (int i = 0; i < 2 * ranks; ++i) all.push_back(i);
  EXPECT_THAT(ValuesOf(outcomes), Each(all));
}

TEST_P(CommunicatorTest, AllToAllGivesEachRankWhatTheOthersHaveForIt) {
  const int ranks = GetParam();
  auto outcomes = RunRanks(ranks, [&](const LaunchEnvironment& environment) {
    auto group = MakeGlooCommunicator(environment);
    const int me = group->rank(), next = (me + 1) % ranks, before = (me + ranks - 1) % ranks;
    // Rank r has r + 1 bytes for the next one, and nothing for others.
    std::vector<int64_t> gives(ranks), gets(ranks);
    gives[next] = me + 1;
    gets[before] = before + 1;
    at::Tensor output = at::zeros({before + 1}, at::kByte);
    group->AllToAll(output, gets, Counting(me + 1, 10 * me, at::kByte), gives, {"to the next", {}})
        ->Wait();
    return ToValues(output);
  });
  const auto values = ValuesOf(outcomes);
  for (int rank = 0; rank < ranks; ++rank) {
    const int before = (rank + ranks - 1) % ranks;
    Values expected;
    for (int i = 0; i <= before; ++i) expected.push_back(10 * before + i);
    EXPECT_EQ(values[rank], expected);
  }
}

TEST_P(CommunicatorTest, BroadcastGivesAllWhatTheRootHas) {
  const int root = GetParam() - 1;
  auto outcomes = RunRanks(GetParam(), [&](const LaunchEnvironment& environment) {
    auto group = MakeGlooCommunicator(environment);
    at::Tensor flags = at::full({2}, group->rank() == root, at::kBool);
    at::Tensor tensor = Counting(2, group->rank());
    group->Broadcast(flags, root, {"flags", {}})->Wait();
    group->Broadcast(tensor, root, {"numbers", {}})->Wait();
    group->Barrier({"end", {}})->Wait();
    return ToValues(at::cat({flags.to(at::kFloat), tensor}));
  });
  EXPECT_THAT(ValuesOf(outcomes), Each(ElementsAre(1, 1, root, root + 1)));
}

TEST_P(CommunicatorTest, WhatIsWrongWithATensorIsSaidAndHarmsNothing) {
  auto outcomes = RunRanks(GetParam(), [&](const LaunchEnvironment& environment) {
    auto group = MakeGlooCommunicator(environment);
    Values thrown;
    for (const at::Tensor& tensor : {at::Tensor(), at::zeros({4, 4}).t().slice(0, 0, 2)}) {
      try {
        group->AllReduce(tensor, ReduceOp::kSum, {"bad", {}})->Wait();
        thrown.push_back(0);
      } catch (const std::invalid_argument& error) {
        thrown.push_back(std::string(error.what()).find("all_reduce 'bad'") == 0);
      }
    }
    try {
      group->Broadcast(at::zeros({1}), GetParam(), {"from nobody", {}});
    } catch (const std::invalid_argument&) {
      thrown.push_back(1);
    }
    try {
      group->AllGather(at::zeros({GetParam() + 1}), at::zeros({1}), {"too large", {}});
    } catch (const std::invalid_argument&) {
      thrown.push_back(1);
    }
    group->Barrier({"alive", {}})->Wait();
    return thrown;
  });
  EXPECT_THAT(ValuesOf(outcomes), Each(ElementsAre(1, 1, 1, 1)));
}

INSTANTIATE_TEST_SUITE_P(Ranks, CommunicatorTest, ::testing::Values(1, 2, 3, 4));

TEST(GlooCommunicator, WhatCannotBeReducedIsAnErrorBeforeItIsSent) {
  for (int ranks : {1, 2}) {
    auto outcomes = RunRanks(ranks, [](const LaunchEnvironment& environment) -> Values {
      auto group = MakeGlooCommunicator(environment);
      try {
        group->AllReduce(at::zeros({2}, at::kComplexFloat), ReduceOp::kSum, {"phases", {}});
      } catch (const std::invalid_argument& error) {
        group->Barrier({"alive", {}})->Wait();
        throw;
      }
      return {};
    });
    for (const RankOutcome& outcome : outcomes) {
      EXPECT_THAT(outcome.error,
                  HasSubstr("all_reduce 'phases': complexfloat[2]; what is reduced"));
    }
  }
}

TEST(GlooCommunicator, WhatIsNotComputedWithMayBeOfAnyType) {
  auto outcomes = RunRanks(2, [](const LaunchEnvironment& environment) -> Values {
    auto group = MakeGlooCommunicator(environment);
    double right = 0;
    for (at::ScalarType type : {at::kShort, at::kComplexFloat, at::kBool, at::kUInt16}) {
      at::Tensor sent = at::full({3}, environment.rank == 1 ? 1 : 0, at::kInt).to(type);
      at::Tensor all = at::zeros({6}, at::kInt).to(type);
      group->Broadcast(sent, 1, {"sent", {}})->Wait();
      group->AllGather(all, sent, {"all", {}})->Wait();
      right += all.to(at::kInt).eq(1).all().item<bool>() ? 1 : 0;
    }
    return {right};
  });
  EXPECT_THAT(ValuesOf(outcomes), ::testing::Each(Values{4}));
}

TEST(GlooCommunicator, GroupsOfOneRunDoNotMeet) {
  auto outcomes = RunRanks(2, [](const LaunchEnvironment& environment) {
    auto one = MakeGlooCommunicator(environment, {.group = "one"});
    auto two = MakeGlooCommunicator(environment, {.group = "two"});
    at::Tensor first = at::ones({1}), second = at::ones({1});
    auto& earlier = environment.rank == 0 ? one : two;
    auto& later = environment.rank == 0 ? two : one;
    auto a = earlier->AllReduce(first, ReduceOp::kSum, {"x", {}});
    auto b = later->AllReduce(second, ReduceOp::kSum, {"x", {}});
    a->Wait();
    b->Wait();
    return ToValues(at::cat({first, second}));
  });
  EXPECT_THAT(ValuesOf(outcomes), Each(ElementsAre(2, 2)));
}

TEST(GlooCommunicator, ARankThatDoesNotComeIsNamed) {
  auto outcomes = RunRanks(3, [](const LaunchEnvironment& environment) -> Values {
    if (environment.rank == 1) return {};
    MakeGlooCommunicator(environment, {.join_deadline = std::chrono::seconds(3)});
    return {};
  });
  for (int rank : {0, 2}) {
    EXPECT_THAT(outcomes[rank].error, HasSubstr("rank 1 did not come to the store at 127.0.0.1:"));
  }
}

TEST(GlooCommunicator, AnInterfaceThatIsNotThereIsNamed) {
  auto outcomes = RunRanks(2, [](const LaunchEnvironment& environment) -> Values {
    setenv("GLOO_SOCKET_IFNAME", "wlan7", 1);
    MakeGlooCommunicator(environment);
    return {};
  });
  EXPECT_THAT(outcomes[0].error, HasSubstr("GLOO_SOCKET_IFNAME='wlan7'"));
}

TEST(GlooCommunicator, RanksAtAddressesThatDoNotReachEachOtherAreNamedWithThem) {
  const auto outward = OutwardAddress();
  if (!outward) GTEST_SKIP() << "this PC has no address but the loopback's";
  auto outcomes = RunRanks(2, [](LaunchEnvironment environment) -> Values {
    // A name that leads to the loopback.
    if (environment.rank == 1) environment.master_addr = "0x7f000001";
    MakeGlooCommunicator(environment);
    return {};
  });
  for (const RankOutcome& outcome : outcomes) {
    EXPECT_THAT(outcome.error,
                HasSubstr(absl::StrCat("rank 0 is at 127.0.0.1 and rank 1 at ", *outward,
                                       ", which do not reach each other: MASTER_ADDR '")));
  }
}

TEST(GlooCommunicator, TheNamedInterfaceIsUsed) {
  auto outcomes = RunRanks(2, [](const LaunchEnvironment& environment) -> Values {
    setenv("GLOO_SOCKET_IFNAME", "nothing0,lo", 1);
    MakeGlooCommunicator(environment)->Barrier({"met", {}})->Wait();
    return {};
  });
  ValuesOf(outcomes);
}

}  // namespace
}  // namespace hpc::train
