// The ranks of one start know each other by a word that no earlier start had.
#include "train/group/start_word.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "train/group/regroup.h"
#include "train/group/rendezvous.h"
#include "train/net/sockets.h"
#include "train/testing/rank_processes.h"

namespace hpc::train {
namespace {

using std::chrono::milliseconds;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr milliseconds kLong{20'000};

TEST(StartWordTest, WhatEarlierRunsLeftInTheStoreIsNotTakenForWhatRanksSay) {
  constexpr int kRuns = 10;
  const auto met = ValuesOf(RunRanks(3, [](const LaunchEnvironment& launched) {
    double right = 0;
    for (int run = 0; run < kRuns; ++run) {
      const StartWord start(launched, kLong);
      LaunchEnvironment environment = launched;
      environment.start = start.word();
      const std::string mine = absl::StrCat("of run ", run);
      const auto said = Rendezvous(environment, "main", kLong).Exchange("member", mine);
      right += std::count(said.begin(), said.end(), mine) == 3;
    }
    return Values{right};
  }));
  EXPECT_THAT(met, Each(Values{kRuns}));
}

TEST(StartWordTest, RanksThatAreLeftAreThoseOfThisStart) {
  // In the earlier run all ranks came. In the next one rank 1 does not.
  const auto left = RunRanks(2, [](const LaunchEnvironment& launched) -> Values {
    std::vector<std::unique_ptr<StartWord>> kept;
    for (int run = 0;; ++run) {
      LaunchEnvironment environment = launched;
      environment.start =
          kept.emplace_back(std::make_unique<StartWord>(environment, kLong))->word();
      if (run == 1 && launched.rank == 1) return {};
      // Nobody asks for rank 2, which stands for a rank that is gone.
      environment.world_size = 3;
      const auto members =
          AgreeOnThoseLeft(environment, {2}, 1, {.deadline = run == 0 ? kLong : milliseconds(1500)})
              .numbers;
      if (run == 1) return Values(members.begin(), members.end());
    }
  });
  EXPECT_EQ(left[0].values, Values{0}) << left[0].error;
}

TEST(StartWordTest, WhoDoesNotComeIsNamedByAll) {
  for (int absent : {0, 2}) {
    const auto outcomes = RunRanks(3, [&](const LaunchEnvironment& environment) -> Values {
      if (environment.rank != absent) StartWord(environment, milliseconds(1500));
      return {};
    });
    for (int rank : {1, 2 - absent}) {
      EXPECT_THAT(outcomes[rank].error,
                  HasSubstr(absl::StrCat("rank ", rank, ": rank ", absent,
                                         " did not come to the store at 127.0.0.1:")));
    }
  }
}

TEST(StartWordTest, WhoWasToldOfAnotherNumberOfRanksIsNamedByAll) {
  const auto outcomes = RunRanks(3, [&](LaunchEnvironment environment) -> Values {
    Rendezvous beside(environment, "beside", kLong);
    if (environment.rank == 1) environment.world_size = 4;
    if (environment.rank == 2) beside.Await({{1, "found"}});  // rank 2 comes when the others know
    try {
      StartWord(environment, kLong);
    } catch (const std::exception&) {
      if (environment.rank == 1) beside.Set("found", "1");
      throw;
    }
    return {};
  });
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(outcomes[rank].error,
              absl::StrCat("rank ", rank,
                           ": rank 1 was started as one of 4 ranks (WORLD_SIZE), and "
                           "rank 0 as one of 3"));
    EXPECT_LT(outcomes[rank].took, kLong);
  }
}

TEST(StartWordTest, TwoProcessesOfTheSameRankAreSaid) {
  // Rank 2's number is 1 by mistake. Chance decides which of the two is told by the store, and
  // which by all.
  const auto outcomes = RunRanks(3, [&](LaunchEnvironment environment) -> Values {
    environment.rank = std::min(environment.rank, 1);
    StartWord(environment, milliseconds(1500));
    return {};
  });
  constexpr char kTwins[] =
      "rank 1: two processes were started as rank 1 of 3 (RANK): each needs a number of its own";
  EXPECT_TRUE(outcomes[1].error == kTwins || outcomes[2].error == kTwins)
      << outcomes[1].error << outcomes[2].error;
  EXPECT_THAT(outcomes[0].error, ::testing::StartsWith("rank 0: "));
}

TEST(StartWordTest, OfTwoProcessesOfRankZeroTheSecondIsRefused) {
  const auto outcomes = RunRanks(1, [](LaunchEnvironment environment) -> Values {
    std::string endpoint;
    { const UniqueFd free = Listen("127.0.0.1", &endpoint); }
    environment.master_port = std::stoi(endpoint.substr(endpoint.rfind(':') + 1));
    environment.store_is_served = false;
    environment.world_size = 2;
    Rendezvous of_first(environment, "start", kLong);
    of_first.SetOnce("rank-0", "the first's word");
    StartWord(environment, kLong);
    return {};
  });
  EXPECT_EQ(outcomes[0].error,
            "rank 0: two processes were started as rank 0 of 2 (RANK): each needs a number of its "
            "own");
}

TEST(StartWordTest, WhoIsLongInComingIsToldOnce) {
  const auto outcomes = RunRanks(2, [&](const LaunchEnvironment& environment) -> Values {
    Rendezvous beside(environment, "beside", kLong);
    if (environment.rank == 1) beside.Await({{0, "told"}});  // rank 1 comes after that was said
    std::string told;
    StartWord(environment, kLong, {.after = milliseconds(0), .tell = [&](const std::string& line) {
                                     told += line;
                                     beside.Set("told", "1");
                                   }});
    if (environment.rank == 0) throw std::runtime_error(told);
    return {static_cast<double>(told.size())};
  });
  EXPECT_THAT(outcomes[0].error,
              ::testing::MatchesRegex("waiting for rank 1, to come to 127.0.0.1:[0-9]+ "
                                      ".MASTER_ADDR, MASTER_PORT."));
  EXPECT_EQ(outcomes[1].values, Values{0}) << outcomes[1].error;
}

TEST(StartWordTest, ARankAloneHasOneWithoutAStore) {
  EXPECT_NE(StartWord({}, kLong).word(), StartWord({}, kLong).word());
}

}  // namespace
}  // namespace hpc::train
