#include "coordinator/core/state/lease.h"

#include <gtest/gtest.h>

#include "common/testing/at.h"

namespace hpc::coordinator {
namespace {

TEST(LeaseTest, ResetShortensItAndNothingHeardProlongsIt) {
  Lease lease(absl::Seconds(6));
  lease.Renew(At(10));
  EXPECT_EQ(lease.deadline(), At(16));
  lease.Reset(At(11), absl::Seconds(2));
  EXPECT_EQ(lease.deadline(), At(13));
  EXPECT_EQ(lease.reset_grace(), absl::Seconds(2));
  lease.Renew(At(12));
  EXPECT_EQ(lease.deadline(), At(18));
  EXPECT_EQ(lease.reset_grace(), std::nullopt);
  lease.Reset(At(17), absl::Seconds(2));
  EXPECT_EQ(lease.deadline(), At(18)) << "a reset never gives more time";
  EXPECT_EQ(lease.reset_grace(), std::nullopt) << "silence decides";
}

TEST(LeaseTest, WhoIsStillToConnectIsNotSilentYet) {
  Lease lease(absl::Seconds(6));
  lease.Grant(At(10), absl::Seconds(5));
  EXPECT_EQ(lease.heard(), At(10));
  EXPECT_EQ(lease.due(), At(15));
  EXPECT_EQ(lease.deadline(), At(21));
  lease.Renew(At(12));
  EXPECT_EQ(lease.due(), At(12));
}

}  // namespace
}  // namespace hpc::coordinator
