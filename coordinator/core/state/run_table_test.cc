#include "coordinator/core/state/run_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hpc::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(RunTableTest, LegalEdgesOfARunAreTheseOnly) {
  const std::vector<RunState> all = {RunState::kQueued,    RunState::kStarting,  RunState::kRunning,
                                     RunState::kStopping,  RunState::kSucceeded, RunState::kFailed,
                                     RunState::kCancelled, RunState::kTimedOut};
  const auto next = [&](RunState from) {
    std::vector<std::string> names;
    for (RunState to : all) {
      if (IsLegal(from, to)) names.push_back(Name(to));
    }
    return names;
  };
  EXPECT_THAT(next(RunState::kQueued), ElementsAre("starting", "failed", "cancelled"));
  EXPECT_THAT(next(RunState::kStarting), ElementsAre("running", "stopping"));
  EXPECT_THAT(next(RunState::kRunning), ElementsAre("stopping", "succeeded"));
  EXPECT_THAT(next(RunState::kStopping),
              ElementsAre("queued", "succeeded", "failed", "cancelled", "timed-out"));
  for (RunState state : all) {
    if (!IsTerminal(state)) continue;
    EXPECT_THAT(next(state), IsEmpty()) << Name(state);
  }
}

}  // namespace
}  // namespace hpc::coordinator
