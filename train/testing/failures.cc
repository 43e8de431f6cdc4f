#include "train/testing/failures.h"

#include <stdexcept>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "train/group/communicator.h"

namespace hpc::train {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Values TellFailure(const std::function<void()>& work) {
  try {
    work();
  } catch (const CollectiveError& error) {
    std::string missing;
    for (int rank : error.missing()) missing += " " + std::to_string(rank);
    throw std::runtime_error("missing" + missing + "|" + error.what());
  }
  return {};
}

void ExpectTold(const std::vector<RankOutcome>& outcomes, int except, const std::string& missing,
                const std::string& why, std::chrono::milliseconds within) {
  for (int rank = 0; rank < static_cast<int>(outcomes.size()); ++rank) {
    if (rank == except) continue;
    EXPECT_FALSE(outcomes[rank].finished) << "rank " << rank;
    EXPECT_THAT(outcomes[rank].error,
                AllOf(HasSubstr("missing" + missing + "|"), HasSubstr(why),
                      Not(HasSubstr("Exception raised from")), Not(HasSubstr(".cc:"))))
        << "rank " << rank;
    EXPECT_LT(outcomes[rank].took, within + std::chrono::seconds(20)) << "rank " << rank;
  }
}

}  // namespace hpc::train
