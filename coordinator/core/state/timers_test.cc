#include "coordinator/core/state/timers.h"

#include <gtest/gtest.h>

#include "common/testing/at.h"

namespace hpc::coordinator {
namespace {

TEST(TimersTest, RingInOrderAndOnce) {
  Timers timers;
  EXPECT_EQ(timers.Next(), MonoTime::Infinite());
  timers.Set(Alarm::kPhase, 1, At(5));
  timers.Set(Alarm::kLease, 1, At(3));
  timers.Set(Alarm::kLease, 2, At(4));
  timers.Set(Alarm::kLease, 2, At(6));  // moves the deadline
  EXPECT_EQ(timers.Next(), At(3));
  EXPECT_FALSE(timers.PopDue(At(2)).has_value());
  EXPECT_EQ(timers.PopDue(At(10)), (TimerKey{Alarm::kLease, 1}));
  EXPECT_EQ(timers.PopDue(At(10)), (TimerKey{Alarm::kPhase, 1}));
  timers.Stop(Alarm::kLease, 2);
  EXPECT_FALSE(timers.PopDue(At(10)).has_value());
}

TEST(TimersTest, InfiniteIsNever) {
  Timers timers;
  timers.Set(Alarm::kPhase, 1, At(5));
  timers.Set(Alarm::kPhase, 1, MonoTime::Infinite());
  EXPECT_EQ(timers.Next(), MonoTime::Infinite());
}

}  // namespace
}  // namespace hpc::coordinator
