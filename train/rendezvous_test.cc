// Ranks meet each other at a store, and nobody else.
#include "train/rendezvous.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "train/regroup.h"
#include "train/testing/rank_processes.h"

namespace hpc::train {
namespace {

using std::chrono::milliseconds;
using ::testing::Each;
using ::testing::HasSubstr;

// Whether all ranks said `word`.
bool AllSay(const std::vector<std::string>& said, const std::string& word) {
  return std::all_of(said.begin(), said.end(), [&](const auto& one) { return one == word; });
}

TEST(Rendezvous, WhatEarlierRunsLeftInTheStoreIsNotTakenForWhatRanksSay) {
  const auto met = ValuesOf(RunRanks(3, [](const LaunchEnvironment& environment) {
    double right = 0;
    for (int run = 0; run < 10; ++run) {
      Rendezvous rendezvous(environment, "main", milliseconds(20'000));
      const std::string word = absl::StrCat("of run ", run);
      right += AllSay(rendezvous.Exchange("member", word), word);
    }
    return Values{right};
  }));
  EXPECT_THAT(met, Each(Values{10}));
}

TEST(Rendezvous, RanksThatAreLeftAreThoseOfThisStart) {
  // Ranks of the earlier run all came, and rank 1 of the next one does not.
  const auto left = RunRanks(2, [](const LaunchEnvironment& launched) -> Values {
    std::vector<Rendezvous> kept;
    for (int run = 0;; ++run) {
      LaunchEnvironment environment = launched;
      environment.start = kept.emplace_back(environment, "start", milliseconds(20'000)).start();
      if (run == 1 && launched.rank == 1) return {};
      const RegroupOptions wait_briefly = {.deadline = milliseconds(run == 0 ? 20'000 : 300)};
      // Nobody asks for rank 2, which stands for the one that is gone.
      environment.world_size = 3;
      const auto members = AgreeOnThoseLeft(environment, {2}, 1, wait_briefly).numbers;
      if (run == 1) return Values(members.begin(), members.end());
    }
  });
  EXPECT_EQ(left[0].values, Values{0}) << left[0].error;
}

TEST(Rendezvous, WhoDoesNotComeIsNamedByAll) {
  for (int absent : {0, 2}) {
    const auto outcomes = RunRanks(3, [&](const LaunchEnvironment& environment) -> Values {
      if (environment.rank == absent) return {};
      Rendezvous rendezvous(environment, "main", milliseconds(300));
      return {};
    });
    for (int rank : {1, 2 - absent}) {
      EXPECT_THAT(outcomes[rank].error,
                  HasSubstr(absl::StrCat("rank ", rank, ": rank ", absent,
                                         " did not come to the store at 127.0.0.1:")));
    }
  }
}

}  // namespace
}  // namespace hpc::train
