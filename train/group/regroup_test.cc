// Ranks that are left of a group agree on who they are.
#include "train/group/regroup.h"

#include <ATen/Functions.h>
#include <signal.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "train/group/gloo_communicator.h"
#include "train/group/rendezvous.h"
#include "train/group/watched_group.h"
#include "train/net/own_address.h"
#include "train/testing/rank_processes.h"

namespace hpc::train {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Returns what a rank gets to know: its new rank, and the numbers of the ranks that are left.
Values Left(const LaunchEnvironment& environment) {
  Values values = {static_cast<double>(environment.rank)};
  for (int number : environment.numbers) values.push_back(number);
  return values;
}

// Each rank regroups, except those in `absent`. Rank r believes that the ranks in the r-th list are
// missing.
std::vector<RankOutcome> Regroup(const std::vector<std::vector<int>>& missing,
                                 const std::set<int>& absent, const RegroupOptions& options) {
  return RunRanks(
      static_cast<int>(missing.size()), [&](const LaunchEnvironment& environment) -> Values {
        if (absent.count(environment.rank) != 0) return {};
        return Left(AgreeOnThoseLeft(environment, missing[environment.rank], 1, options));
      });
}

TEST(Regroup, AllThatAreLeftKnowEachOtherByTheNumbersThatTheyHad) {
  const auto outcomes = Regroup({{1}, {}, {1}, {1}}, {1}, {});
  EXPECT_THAT(outcomes[0].values, ElementsAre(0, 0, 2, 3)) << outcomes[0].error;
  EXPECT_THAT(outcomes[2].values, ElementsAre(1, 0, 2, 3)) << outcomes[2].error;
  EXPECT_THAT(outcomes[3].values, ElementsAre(2, 0, 2, 3)) << outcomes[3].error;
}

TEST(Regroup, RanksThatMissOthersThanTheRestAgreeAllTheSame) {
  // Rank 2 died after rank 0 had been told of rank 1 alone.
  const auto outcomes = Regroup({{1}, {}, {}, {1, 2}}, {1, 2}, {});
  EXPECT_THAT(outcomes[0].values, ElementsAre(0, 0, 3)) << outcomes[0].error;
  EXPECT_THAT(outcomes[3].values, ElementsAre(1, 0, 3)) << outcomes[3].error;
}

TEST(Regroup, WhoDoesNotComeWithinTheDeadlineIsLeftOut) {
  const auto outcomes = Regroup({{1}, {}, {1}, {1}}, {1, 3}, {.deadline = milliseconds(700)});
  EXPECT_THAT(outcomes[0].values, ElementsAre(0, 0, 2)) << outcomes[0].error;
  EXPECT_THAT(outcomes[2].values, ElementsAre(1, 0, 2)) << outcomes[2].error;
}

TEST(Regroup, WhoIsKnownToHaveGoneSinceIsNotWaitedFor) {
  const auto outcomes =
      Regroup({{1}, {}, {1}, {1}}, {1, 3}, {.gone = [] { return std::vector<int>{3}; }});
  EXPECT_THAT(outcomes[0].values, ElementsAre(0, 0, 2)) << outcomes[0].error;
  EXPECT_THAT(outcomes[2].values, ElementsAre(1, 0, 2)) << outcomes[2].error;
}

TEST(Regroup, TooFewLeaveAndSaySo) {
  const auto outcomes = Regroup({{1}, {}, {1}}, {1}, {.min_ranks = 3});
  for (int rank : {0, 2}) {
    EXPECT_EQ(outcomes[rank].error, "2 of 3 ranks are left, and it takes 3 to go on");
  }
}

TEST(Regroup, WhoIsMissingAndNobodyAndTheOneWithTheStoreAreNoReasonToWait) {
  const auto outcomes = RunRanks(2, [](const LaunchEnvironment& environment) -> Values {
    LaunchEnvironment with_store = environment;
    with_store.store_is_served = false;
    with_store.rank = 1;
    std::string said;
    for (const auto& [who, missing] : {std::pair(environment, std::vector<int>{}),
                                       {environment, {environment.rank}},
                                       {with_store, {0}}}) {
      try {
        AgreeOnThoseLeft(who, missing, 1, {});
      } catch (const NoRegroupError& error) {
        said += std::string(error.what()) + "; ";
      }
    }
    throw std::runtime_error(said);
  });
  EXPECT_EQ(outcomes[1].error,
            "no rank is known to be missing: regroup without whom?; rank 1 is itself among those "
            "that are missing; rank 0 is gone, and the rendezvous store with it; ");
}

TEST(Regroup, WhoIsAskedToStopWhileItWaitsLeaves) {
  const auto outcomes = Regroup({{1}, {}, {}}, {1, 2}, {.give_up = [] { return true; }});
  EXPECT_EQ(outcomes[0].error, "it was asked to stop meanwhile");
}

// The whole story: a rank is killed in each group, and errors call ranks by the launcher's numbers.
TEST(Regroup, GroupAfterGroupIsMadeWhileRanksAreKilled) {
  const auto outcomes = RunRanks(4, [](const LaunchEnvironment& launched) -> Values {
    LaunchEnvironment environment = launched;
    auto group = MakeGlooCommunicator(environment);
    std::string said;
    for (int time = 1; environment.world_size > 1; ++time) {
      try {
        for (;;) {
          at::Tensor tensor = at::ones({1 << 20});
          group->AllReduce(tensor, ReduceOp::kSum, {"sum", {}})->Wait();
          if (launched.rank == time) raise(SIGKILL);
        }
      } catch (const CollectiveError& error) {
        said += error.what();
        environment = AgreeOnThoseLeft(environment, error.missing(), time, {});
        group = MakeGlooCommunicator(environment, {.group = absl::StrCat("main.", time)});
      }
    }
    throw std::runtime_error(said);
  });
  EXPECT_THAT(outcomes[0].error, AllOf(HasSubstr("rank 1 "), HasSubstr("rank 0: rank 2 "),
                                       HasSubstr("rank 0: rank 3 ")));
}

TEST(Regroup, WhoDiesWhileTheNewGroupIsMadeIsNamedAndTheRestRegroupAgain) {
  const auto outcomes = RunRanks(4, [](const LaunchEnvironment& launched) -> Values {
    LaunchEnvironment environment = launched;
    const auto first = MakeGlooCommunicator(environment);
    first->Barrier({"start", {}})->Wait();
    if (environment.rank == 1) raise(SIGKILL);
    // The watch of the first group knows which ranks end. The ranks of the new group are translated
    // by the numbers that they had.
    const auto gone = [&] {
      std::vector<int> ranks;
      for (int number : first->Gone()) {
        const auto& left = environment.numbers;
        const auto at = std::find(left.begin(), left.end(), number);
        if (at != left.end()) ranks.push_back(static_cast<int>(at - left.begin()));
      }
      return ranks;
    };
    std::shared_ptr<Communicator> group;
    std::vector<int> missing = {1};
    for (int time = 1;; ++time) {
      environment = AgreeOnThoseLeft(environment, missing, time, {});
      if (launched.rank == 2) raise(SIGKILL);  // after the others have heard that it is there
      try {
        // Nobody waits for the deadline, which is minutes away.
        group =
            MakeGlooCommunicator(environment, {.group = absl::StrCat("main.", time), .gone = gone});
        at::Tensor tensor = at::ones({1});
        group->AllReduce(tensor, ReduceOp::kSum, {"sum", {}})->Wait();
        return {tensor.item<double>(), static_cast<double>(time)};
      } catch (const CollectiveError& error) {
        missing = error.missing();
      }
    }
  });
  for (int rank : {0, 3})
    EXPECT_THAT(outcomes[rank].values, ElementsAre(2, 2)) << outcomes[rank].error;
}

// Gloo would wait for such a rank until its deadline.
TEST(Regroup, WhoDiesBeforeItIsConnectedIsNotWaitedFor) {
  const auto outcomes = RunRanks(3, [](const LaunchEnvironment& environment) -> Values {
    if (environment.rank == 1) {
      WatchedGroup group(environment.rank, environment.world_size, OwnAddress(environment));
      Rendezvous rendezvous(environment, "main", milliseconds(20'000));
      group.Join(rendezvous, {"cpu", "-", "127.0.0.1"});
      raise(SIGKILL);
    }
    MakeGlooCommunicator(environment, {.join_deadline = std::chrono::minutes(10)});
    return {};
  });
  for (int rank : {0, 2}) {
    EXPECT_THAT(outcomes[rank].error, HasSubstr(absl::StrCat("rank ", rank, ": rank 1 ")));
  }
}

}  // namespace
}  // namespace hpc::train
