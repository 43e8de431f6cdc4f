#include "worker/owner/control_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/status_matchers.h"

namespace hpc::worker {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

TEST(ControlRequestTest, AReclaimSaysForHowLongAndWhy) {
  const auto request = ParseControlRequest(
      R"({"command": "reclaim", "for_ms": 60000, "grace_ms": 0, "reason": "a game"})");
  ASSERT_OK(request);
  EXPECT_EQ(request->command, ControlCommand::kReclaim);
  EXPECT_EQ(request->reclaim.duration, absl::Minutes(1));
  EXPECT_EQ(request->reclaim.grace, absl::ZeroDuration());
  EXPECT_EQ(request->reclaim.reason, "a game");
}

TEST(ControlRequestTest, NoDepthIsTooGreatToBeRefused) {
  const std::string deep(200'000, '[');
  const std::string open = deep + std::string(200'000, ']');
  for (const std::string& request :
       {open, "{\"command\": " + open + "}", "{\"command\": \"reclaim\", \"x\": " + open + "}"}) {
    EXPECT_THAT(ParseControlRequest(request),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("command")));
  }
}

}  // namespace
}  // namespace hpc::worker
