#include "common/backoff.h"

#include <gtest/gtest.h>

namespace hpc {
namespace {

TEST(BackoffTest, DoublesUpToItsMaximum) {
  Backoff backoff(absl::Seconds(1), absl::Seconds(5));
  EXPECT_EQ(backoff.Next(1), absl::Seconds(1));
  EXPECT_EQ(backoff.Next(1), absl::Seconds(2));
  EXPECT_EQ(backoff.Next(1), absl::Seconds(4));
  EXPECT_EQ(backoff.Next(1), absl::Seconds(5));
  EXPECT_EQ(backoff.Next(1), absl::Seconds(5));
}

TEST(BackoffTest, JitterShortensAWaitByUpToHalf) {
  Backoff backoff(absl::Seconds(2), absl::Seconds(2));
  EXPECT_EQ(backoff.Next(0), absl::Seconds(1));
  EXPECT_EQ(backoff.Next(0.5), absl::Milliseconds(1500));
  EXPECT_EQ(backoff.Next(7), absl::Seconds(2));
}

TEST(BackoffTest, ResetStartsAgain) {
  Backoff backoff(absl::Seconds(1), absl::Seconds(60));
  backoff.Next(1);
  backoff.Next(1);
  backoff.Reset();
  EXPECT_EQ(backoff.Next(1), absl::Seconds(1));
}

}  // namespace
}  // namespace hpc
