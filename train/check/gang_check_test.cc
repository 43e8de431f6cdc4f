#include "train/check/gang_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "train/check/check_main.h"
#include "train/group/gloo_communicator.h"
#include "train/net/own_address.h"
#include "train/testing/rank_processes.h"

namespace hpc::train {
namespace {

using ::testing::HasSubstr;

const GangCheckOptions kQuick = {.largest_mib = 1, .measure = std::chrono::milliseconds(4)};

GangResult CheckAs(const LaunchEnvironment& environment) {
  const auto group = MakeGlooCommunicator(environment);
  RankSelf self = {.host = "pc" + std::to_string(environment.rank + 1)};
  if (environment.world_size > 1) self.address = OwnAddress(environment);
  GangResult gang;
  CheckGang(group, self, kQuick, &gang);
  return gang;
}

void SetEnvironment(const LaunchEnvironment& environment) {
  setenv("RANK", std::to_string(environment.rank).c_str(), 1);
  setenv("WORLD_SIZE", std::to_string(environment.world_size).c_str(), 1);
  setenv("MASTER_ADDR", environment.master_addr.c_str(), 1);
  setenv("MASTER_PORT", std::to_string(environment.master_port).c_str(), 1);
  if (environment.store_is_served) setenv("TORCHELASTIC_USE_AGENT_STORE", "True", 1);
}

// Turns a rank's result into numbers: how many there are of each kind, how many of those are right,
// and one figure that must be the same on all ranks.
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
  // The sizes are 4 KiB, 64 KiB and 1 MiB, and there are three pairs.
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
    GangResult gang;
    CheckGang(MakeGlooCommunicator(environment), {"pc", OwnAddress(environment)}, quick, &gang);
    return Values{stages};
  }));
  EXPECT_EQ(told[0], Values{5});  // three sizes, links, steps
}

// When rank 0 reports that it has come far enough, it or the other rank is killed.
TEST(GangCheckTest, WhereTheGangBreaksOneThatIsLeftPrintsWhatWasMeasuredAndWhatBrokeIt) {
  const std::string file = ::testing::TempDir() + "gang_check." + std::to_string(getpid());
  for (int victim : {0, 1}) {
    int said[2];
    ASSERT_EQ(pipe(said), 0);
    const auto outcomes = RunRanks(
        2,
        [&](const LaunchEnvironment& environment) {
          SetEnvironment(environment);
          if (environment.rank == 0) dup2(said[1], STDERR_FILENO);
          std::thread killer;
          if (environment.rank == victim) {
            killer = std::thread([&] {
              std::string text;
              while (text.find("a step of ResNet") == std::string::npos) {
                char byte;
                if (read(said[0], &byte, 1) == 1) text.push_back(byte);
              }
              raise(SIGKILL);
            });
          } else if (freopen(file.c_str(), "w", stdout) == nullptr) {
            abort();
          }
          const Values code = {
              1.0 * CheckMain("hpc-train", {"--json", "--largest-mib=1", "--measure-ms=4"})};
          if (killer.joinable()) killer.join();
          return code;
        },
        {victim});
    close(said[0]);
    close(said[1]);
    EXPECT_EQ(outcomes[1 - victim].values, Values{1}) << outcomes[1 - victim].error;
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    unlink(file.c_str());
    const auto json = nlohmann::json::parse(text.str(), nullptr, /*allow_exceptions=*/false);
    ASSERT_TRUE(json.is_object()) << text.str();
    EXPECT_EQ(json["ranks"].size(), 2u);
    EXPECT_EQ(json["all_reduce"].size(), 3u);
    EXPECT_GE(json["links"].size(), victim == 1 ? 1u : 0u) << "rank 0 measured it";
    EXPECT_FALSE(json.contains("step"));
    EXPECT_EQ(json["missing"], std::vector<int>{victim});
    EXPECT_THAT(json["error"].get<std::string>(), HasSubstr("rank " + std::to_string(victim)));
    EXPECT_EQ(json["findings"], std::vector{json["error"]});
  }
}

TEST(GangCheckTest, RanksThatAreToldDifferentThingsAreToldSo) {
  const auto codes = ValuesOf(RunRanks(2, [](const LaunchEnvironment& environment) {
    SetEnvironment(environment);
    const std::string largest = std::to_string(environment.rank + 1);
    return Values{1.0 * CheckMain("hpc-train", {"--largest-mib", largest, "--measure-ms", "4"})};
  }));
  EXPECT_EQ(codes, (std::vector<Values>{{1}, {1}}));
}

}  // namespace
}  // namespace hpc::train
