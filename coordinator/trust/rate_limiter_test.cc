#include "coordinator/trust/rate_limiter.h"

#include <gtest/gtest.h>

#include <string>

namespace hpc::coordinator {
namespace {

constexpr MonoTime kStart{absl::Seconds(1000)};

TEST(RateLimiterTest, AllowsABurstAndThenOneAtATime) {
  RateLimiter limiter({.burst = 3, .each = absl::Seconds(10)});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(limiter.Allow("a", kStart)) << i;
  EXPECT_FALSE(limiter.Allow("a", kStart));
  EXPECT_EQ(limiter.Wait("a", kStart), absl::Seconds(10));
  EXPECT_FALSE(limiter.Allow("a", kStart + absl::Seconds(9)));
  EXPECT_TRUE(limiter.Allow("a", kStart + absl::Seconds(10)));
  EXPECT_FALSE(limiter.Allow("a", kStart + absl::Seconds(10)));
}

TEST(RateLimiterTest, TakesNothingFromThoseThatItRefuses) {
  RateLimiter limiter({.burst = 1, .each = absl::Seconds(10)});
  EXPECT_TRUE(limiter.Allow("a", kStart));
  for (int i = 1; i < 10; ++i) EXPECT_FALSE(limiter.Allow("a", kStart + absl::Seconds(i)));
  EXPECT_TRUE(limiter.Allow("a", kStart + absl::Seconds(10)));
}

TEST(RateLimiterTest, CountsEachKeyByItself) {
  RateLimiter limiter({.burst = 1, .each = absl::Seconds(10)});
  EXPECT_TRUE(limiter.Allow("a", kStart));
  EXPECT_TRUE(limiter.Allow("b", kStart));
  EXPECT_FALSE(limiter.Has("a", kStart));
}

TEST(RateLimiterTest, IsAsGoodAsNewAfterARest) {
  RateLimiter limiter({.burst = 2, .each = absl::Seconds(1)});
  EXPECT_TRUE(limiter.Allow("a", kStart));
  EXPECT_TRUE(limiter.Allow("a", kStart));
  const MonoTime later = kStart + absl::Hours(1);
  EXPECT_TRUE(limiter.Allow("a", later));
  EXPECT_TRUE(limiter.Allow("a", later));
  EXPECT_FALSE(limiter.Allow("a", later));
}

TEST(RateLimiterTest, RemembersWhoIsLimitedAmongManyOthers) {
  RateLimiter limiter({.burst = 1, .each = absl::Seconds(1)});
  for (int i = 0; i < 10000; ++i) EXPECT_TRUE(limiter.Allow(std::to_string(i), kStart));
  EXPECT_FALSE(limiter.Allow("0", kStart));
}

}  // namespace
}  // namespace hpc::coordinator
