#include "coordinator/core/state/attempt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hpc::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Member Share(const std::string& node, int first, int ranks, std::vector<int32_t> devices) {
  Member member;
  member.placement.node = node;
  member.placement.address = "10.0.0." + node;
  member.placement.first_rank = first;
  member.placement.ranks = ranks;
  member.placement.devices = std::move(devices);
  return member;
}

TEST(RanksTest, DevicesAreSharedOutToTheRanksOfTheNode) {
  const auto devices = [](int ranks, std::vector<int32_t> of) {
    std::vector<std::vector<int32_t>> shared;
    for (const RankRecord& rank : MakeRanks({Share("1", 0, ranks, std::move(of))})) {
      shared.push_back(rank.devices);
    }
    return shared;
  };
  EXPECT_THAT(devices(2, {4, 5}), ElementsAre(ElementsAre(4), ElementsAre(5)));
  EXPECT_THAT(devices(2, {0, 1, 2, 3}), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  EXPECT_THAT(devices(3, {0, 1}), ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(0)));
  EXPECT_THAT(devices(1, {}), ElementsAre(IsEmpty()));
}

TEST(AttemptTest, LegalEdgesAreTheseOnly) {
  const std::vector<AttemptState> all = {AttemptState::kWaking,   AttemptState::kPreparing,
                                         AttemptState::kStarting, AttemptState::kRunning,
                                         AttemptState::kStopping, AttemptState::kEnded};
  const auto next = [&](AttemptState from) {
    std::vector<std::string> names;
    for (AttemptState to : all) {
      if (IsLegal(from, to)) names.push_back(Name(to));
    }
    return names;
  };
  EXPECT_THAT(next(AttemptState::kWaking), ElementsAre("preparing", "stopping"));
  EXPECT_THAT(next(AttemptState::kPreparing), ElementsAre("starting", "stopping"));
  EXPECT_THAT(next(AttemptState::kStarting), ElementsAre("running", "stopping"));
  EXPECT_THAT(next(AttemptState::kRunning), ElementsAre("stopping", "ended"));
  EXPECT_THAT(next(AttemptState::kStopping), ElementsAre("ended"));
  EXPECT_THAT(next(AttemptState::kEnded), IsEmpty());
}

}  // namespace
}  // namespace hpc::coordinator
