#include "train/group/agreement.h"

#include <ATen/Functions.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "train/group/gloo_communicator.h"
#include "train/testing/rank_processes.h"

namespace hpc::train {
namespace {

using ::testing::Eq;

TEST(FirstDifference, IsNoneAmongEqualRanks) {
  EXPECT_EQ(FirstDifference({{"a", "b"}, {"a", "b"}}), std::nullopt);
}

TEST(FirstDifference, NamesTheFirstRankAndLine) {
  EXPECT_EQ(FirstDifference({{"a", "b"}, {"a", "b"}, {"a", "c"}, {"x", "b"}}),
            "rank 2 differs from rank 0: it has c where rank 0 has b");
}

TEST(FirstDifference, NamesWhatOneRankHasMore) {
  EXPECT_EQ(FirstDifference({{"a"}, {"a", "b"}}),
            "rank 1 differs from rank 0: it has b where rank 0 has nothing more");
  EXPECT_EQ(FirstDifference({{"a", "b"}, {"a"}}),
            "rank 1 differs from rank 0: it has nothing more where rank 0 has b");
}

std::vector<RankOutcome> RunWithShape(const std::function<std::vector<int64_t>(int)>& shape) {
  return RunRanks(3, [&](const LaunchEnvironment& environment) -> Values {
    auto group = MakeGlooCommunicator(environment);
    const std::vector<NamedTensor> parameters = {{"conv.weight", at::zeros({3, 3})},
                                                 {"fc.weight", at::zeros(shape(environment.rank))}};
    CheckSameOnAllRanks(*group, DescribeTensors("parameter", parameters));
    group->Barrier({"after", {}})->Wait();
    return {};
  });
}

TEST(Agreement, RanksThatAgreeGoOn) {
  ValuesOf(RunWithShape([](int) { return std::vector<int64_t>{10, 64}; }));
}

TEST(Agreement, AllRanksAreToldWhoDiffersAndInWhat) {
  auto outcomes = RunWithShape([](int rank) {
    return std::vector<int64_t>{10, rank == 2 ? 32 : 64};
  });
  for (const RankOutcome& outcome : outcomes) {
    EXPECT_THAT(outcome.error,
                Eq("rank 2 differs from rank 0: it has parameter 'fc.weight' float[10, 32] where "
                   "rank 0 has parameter 'fc.weight' float[10, 64]"));
  }
}

}  // namespace
}  // namespace hpc::train
