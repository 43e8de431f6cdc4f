// Ranks meet at a store, and agree on who came.
#include "train/group/rendezvous.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "train/net/sockets.h"
#include "train/testing/rank_processes.h"

namespace hpc::train {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(RendezvousTest, WhoDoesNotComeIsNamedByAll) {
  for (int absent : {0, 2}) {
    const auto outcomes = RunRanks(3, [&](const LaunchEnvironment& environment) -> Values {
      if (environment.rank == absent) return {};
      Rendezvous rendezvous(environment, "main", milliseconds(1500));
      rendezvous.Exchange("member", "here");
      return {};
    });
    for (int rank : {1, 2 - absent}) {
      EXPECT_THAT(outcomes[rank].error,
                  HasSubstr(absl::StrCat("rank ", rank, ": rank ", absent,
                                         " did not come to the store at 127.0.0.1:")));
    }
  }
}

TEST(RendezvousTest, WhoHasEndedIsNotWaitedFor) {
  const auto outcomes = RunRanks(3, [&](const LaunchEnvironment& environment) -> Values {
    if (environment.rank == 1) return {};
    Rendezvous rendezvous(environment, "main", std::chrono::minutes(10),
                          [] { return std::vector<int>{1}; });
    rendezvous.Exchange("member", "here");
    return {};
  });
  for (int rank : {0, 2}) {
    EXPECT_THAT(outcomes[rank].error, HasSubstr("rank 1 ended before it came to the store"));
  }
}

TEST(RendezvousTest, WhoComesAfterOneHasGivenItUpIsMissingForAll) {
  const auto outcomes = RunRanks(3, [&](const LaunchEnvironment& environment) -> Values {
    Rendezvous rendezvous(environment, "main", std::chrono::minutes(10), [&] {
      return environment.rank == 0 ? std::vector<int>{2} : std::vector<int>{};
    });
    if (environment.rank == 2) rendezvous.Await({{0, "member/found"}});
    rendezvous.Exchange("member", "here");
    return {};
  });
  for (const RankOutcome& outcome : outcomes) {
    EXPECT_THAT(outcome.error, HasSubstr(": rank 2 ended before it came to the store"));
  }
}

TEST(RendezvousTest, WhatDoesNotAnswerIsNotWaitedForLongerThanTheDeadline) {
  const auto outcomes = RunRanks(1, [&](LaunchEnvironment environment) -> Values {
    std::string endpoint;
    const UniqueFd silent = Listen("127.0.0.1", &endpoint);
    environment.master_addr = "127.0.0.1";
    environment.master_port = std::stoi(endpoint.substr(endpoint.rfind(':') + 1));
    environment.store_is_served = true;
    Rendezvous rendezvous(environment, "main", milliseconds(1000));
    return {};
  });
  EXPECT_THAT(outcomes[0].error, HasSubstr("rank 0: no store at 127.0.0.1:"));
  EXPECT_LT(outcomes[0].took, std::chrono::seconds(10));
}

TEST(RendezvousTest, ANameThatDoesNotResolveIsNotWaitedFor) {
  const auto outcomes = RunRanks(1, [&](LaunchEnvironment environment) -> Values {
    environment.master_addr = "no.such.name.invalid";
    Rendezvous rendezvous(environment, "main", std::chrono::minutes(5));
    return {};
  });
  EXPECT_THAT(outcomes[0].error,
              AllOf(HasSubstr("rank 0: no store at no.such.name.invalid:"),
                    HasSubstr("'no.such.name.invalid' is no address and no name that resolves")));
}

TEST(RendezvousTest, WhatIsNoListOfRanksIsSaidWithTheStore) {
  const auto outcomes = RunRanks(1, [&](const LaunchEnvironment& environment) -> Values {
    Rendezvous rendezvous(environment, "main", milliseconds(20'000));
    rendezvous.Set("member/found", "a cat");
    rendezvous.Exchange("member", "here");
    return {};
  });
  EXPECT_THAT(outcomes[0].error,
              AllOf(HasSubstr("rank 0: the store at 127.0.0.1:"),
                    HasSubstr("has 'a cat' for member/found, where ranks belong")));
}

}  // namespace
}  // namespace hpc::train
