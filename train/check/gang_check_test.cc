#include "train/check/gang_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "train/check/check_main.h"
#include "train/gloo_communicator.h"
#include "train/own_address.h"
#include "train/testing/rank_processes.h"

namespace hpc::train {
namespace {

const GangCheckOptions kQuick = {.largest_mib = 1, .measure = std::chrono::milliseconds(4)};

GangResult CheckAs(const LaunchEnvironment& environment) {
  const auto group = MakeGlooCommunicator(environment);
  RankSelf self = {.host = "pc" + std::to_string(environment.rank + 1)};
  if (environment.world_size > 1) self.address = OwnAddress(environment);
  return CheckGang(group, self, kQuick);
}

// What a rank has of it, as numbers: how many of each, how many of those are right, and one figure
// that must be the same on all ranks.
Values Told(const GangResult& gang) {
  double exact = 0, linked = 0;
  for (const ReduceResult& one : gang.reduces) exact += one.wrong.empty() && one.seconds > 0;
  for (const PairResult& one : gang.pairs) linked += one.error.empty() && SlowerWay(one.speed) > 0;
  return {static_cast<double>(gang.ranks.size()),
          static_cast<double>(gang.reduces.size()),
          exact,
          static_cast<double>(gang.pairs.size()),
          linked,
          static_cast<double>(gang.step.alone.size()),
          gang.step.together};
}

TEST(GangCheckTest, AllRanksGetTheSameOfEachOther) {
  const auto told = ValuesOf(
      RunRanks(3, [](const LaunchEnvironment& environment) { return Told(CheckAs(environment)); }));
  ASSERT_EQ(told.size(), 3u);
  // 4 KiB, 64 KiB, 1 MiB; three pairs.
  EXPECT_EQ(Values(told[0].begin(), told[0].end() - 1), (Values{3, 3, 3, 3, 3, 3}));
  EXPECT_GT(told[0].back(), 0);
  EXPECT_EQ(told[1], told[0]);
  EXPECT_EQ(told[2], told[0]);
}

TEST(GangCheckTest, OneRankHasNoLinks) {
  const auto told = ValuesOf(
      RunRanks(1, [](const LaunchEnvironment& environment) { return Told(CheckAs(environment)); }));
  EXPECT_EQ(Values(told[0].begin(), told[0].end() - 1), (Values{1, 0, 0, 0, 0, 1}));
}

TEST(GangCheckTest, EachStageIsTold) {
  const auto told = ValuesOf(RunRanks(2, [](const LaunchEnvironment& environment) {
    GangCheckOptions quick = kQuick;
    double stages = 0;
    quick.tell = [&](const std::string&) { ++stages; };
    CheckGang(MakeGlooCommunicator(environment), {"pc", OwnAddress(environment)}, quick);
    return Values{stages};
  }));
  EXPECT_EQ(told[0], Values{5});  // three sizes, links, steps
}

TEST(GangCheckTest, RanksThatAreToldDifferentThingsAreToldSo) {
  const auto codes = ValuesOf(RunRanks(2, [](const LaunchEnvironment& environment) {
    setenv("RANK", std::to_string(environment.rank).c_str(), 1);
    setenv("WORLD_SIZE", std::to_string(environment.world_size).c_str(), 1);
    setenv("MASTER_ADDR", environment.master_addr.c_str(), 1);
    setenv("MASTER_PORT", std::to_string(environment.master_port).c_str(), 1);
    if (environment.store_is_served) setenv("TORCHELASTIC_USE_AGENT_STORE", "True", 1);
    const std::string largest = std::to_string(environment.rank + 1);
    return Values{1.0 * CheckMain("hpc-train", {"--largest-mib", largest, "--measure-ms", "4"})};
  }));
  EXPECT_EQ(codes, (std::vector<Values>{{1}, {1}}));
}

}  // namespace
}  // namespace hpc::train
