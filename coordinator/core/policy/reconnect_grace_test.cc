#include "coordinator/core/policy/reconnect_grace.h"

#include <gtest/gtest.h>

namespace hpc::coordinator {
namespace {

TEST(ReconnectGraceTest, IsShortOnlyWhereSparesStandReadyAndNobodyFollows) {
  ClusterOptions options;
  options.reconnect_grace = absl::Seconds(3);
  EXPECT_EQ(ReconnectGrace(options, /*hands_over=*/false, /*spares_ready=*/false),
            absl::Seconds(3));
  EXPECT_EQ(ReconnectGrace(options, false, true), absl::Milliseconds(500));
  EXPECT_EQ(ReconnectGrace(options, true, true), absl::Seconds(3));
  options.reconnect_grace = absl::Milliseconds(100);
  EXPECT_EQ(ReconnectGrace(options, false, true), absl::Milliseconds(100));
}

}  // namespace
}  // namespace hpc::coordinator
