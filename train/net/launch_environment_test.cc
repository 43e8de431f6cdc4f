#include "train/net/launch_environment.h"

#include <map>
#include <stdexcept>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace hpc::train {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

LaunchEnvironment Read(const std::map<std::string, std::string>& variables) {
  return ReadLaunchEnvironment([&](const char* name) -> const char* {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string ErrorOf(const std::map<std::string, std::string>& variables) {
  try {
    Read(variables);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no error";
}

TEST(LaunchEnvironment, WithoutRankThisProcessIsAlone) {
  LaunchEnvironment alone = Read({});
  EXPECT_EQ(alone.rank, 0);
  EXPECT_EQ(alone.world_size, 1);
}

TEST(LaunchEnvironment, OneRankNeedsNoStore) {
  EXPECT_EQ(Read({{"RANK", "0"}, {"WORLD_SIZE", "1"}}).master_addr, "");
}

TEST(LaunchEnvironment, IsWhatTheLauncherSays) {
  LaunchEnvironment third = Read({{"RANK", "2"},
                                  {"WORLD_SIZE", "4"},
                                  {"MASTER_ADDR", "10.0.0.1"},
                                  {"MASTER_PORT", "29500"},
                                  {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                  {"TORCHELASTIC_RESTART_COUNT", "3"},
                                  {"LOCAL_RANK", "1"}});
  EXPECT_EQ(third.rank, 2);
  EXPECT_EQ(third.world_size, 4);
  EXPECT_EQ(third.master_addr, "10.0.0.1");
  EXPECT_EQ(third.master_port, 29500);
  EXPECT_TRUE(third.store_is_served);
  EXPECT_EQ(third.restart_count, 3);
  EXPECT_EQ(third.local_rank, 1);
}

TEST(LaunchEnvironment, RankZeroServesTheStoreUnlessToldOtherwise) {
  std::map<std::string, std::string> variables = {
      {"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "pc1"}, {"MASTER_PORT", "29500"}};
  EXPECT_FALSE(Read(variables).store_is_served);
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "False";
  EXPECT_FALSE(Read(variables).store_is_served);
}

TEST(LaunchEnvironment, AnErrorNamesVariableAndValue) {
  EXPECT_THAT(ErrorOf({{"WORLD_SIZE", "2"}}), HasSubstr("RANK is not set"));
  EXPECT_THAT(ErrorOf({{"RANK", "2"}, {"WORLD_SIZE", "2"}}),
              HasSubstr("RANK='2' is no number from 0 to 1"));
  EXPECT_THAT(ErrorOf({{"RANK", "0"}, {"WORLD_SIZE", "two"}}),
              AllOf(HasSubstr("WORLD_SIZE='two'"), HasSubstr("from 1")));
  EXPECT_THAT(ErrorOf({{"RANK", "0"}, {"WORLD_SIZE", "2"}}), HasSubstr("MASTER_ADDR is not set"));
  EXPECT_THAT(ErrorOf({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "-1"}}),
              HasSubstr("LOCAL_RANK='-1' is no number from 0 to 127"));
  EXPECT_THAT(ErrorOf({{"RANK", "0"},
                       {"WORLD_SIZE", "2"},
                       {"MASTER_ADDR", "10.0.0.1"},
                       {"MASTER_PORT", "70000"}}),
              HasSubstr("MASTER_PORT='70000'"));
}

TEST(LaunchEnvironment, ThoseThatAreLeftKeepTheirOrder) {
  const LaunchEnvironment environment = {.rank = 3, .world_size = 5, .store_is_served = true};
  const LaunchEnvironment left = WithoutRanks(environment, {0, 2});
  EXPECT_EQ(left.rank, 1);
  EXPECT_EQ(left.world_size, 3);
  EXPECT_THAT(left.numbers, ElementsAre(1, 3, 4)) << "as the launcher knows them";
  EXPECT_THAT(WithoutRanks(left, {0}).numbers, ElementsAre(3, 4));
  EXPECT_EQ(WithoutRanks(environment, {4}).rank, 3);
  EXPECT_THROW(WithoutRanks(environment, {}), std::invalid_argument);
  EXPECT_THROW(WithoutRanks(environment, {3}), std::invalid_argument);
  EXPECT_THROW(WithoutRanks({.rank = 1, .world_size = 2}, {0}), std::invalid_argument);
}

}  // namespace
}  // namespace hpc::train
