#include "coordinator/core/fence.h"

#include <gtest/gtest.h>

namespace hpc::coordinator {
namespace {

const FenceTimes kTimes(absl::Seconds(6));

MonoTime At(double seconds) { return {absl::Seconds(seconds)}; }

// pc1 to pc3; pc1 is lost.
Attempt Gang() {
  Attempt attempt;
  attempt.witnessed = true;
  for (const char* name : {"pc1", "pc2", "pc3"}) {
    attempt.members.emplace_back().placement.node = name;
  }
  return attempt;
}

TEST(FenceTimesTest, ALeaseHasRoomForAllOfThem) {
  for (const absl::Duration lease : {absl::Seconds(3), absl::Seconds(6), absl::Minutes(10)}) {
    const FenceTimes times(lease);
    EXPECT_LE(times.doubt_after + times.vouch + times.kill, lease);
    EXPECT_LE(times.contact + times.kill, lease);
    EXPECT_LE(times.contact, times.doubt_after + times.promise);
    EXPECT_GT(times.doubt_after, lease / 3) << "a heartbeat";
  }
}

TEST(FenceTimesTest, KillingTakesItsTimeUnderAShortLeaseToo) {
  EXPECT_EQ(FenceTimes(absl::Seconds(0.6)).kill, absl::Seconds(0.5));
}

TEST(FenceTest, WithoutAPromiseNothingIsKnown) {
  Attempt gang = Gang();
  EXPECT_EQ(DeadBy(kTimes, gang, gang.members[0], At(0)).at, MonoTime::Infinite());
}

TEST(FenceTest, OneThatDoesNotVouchEndsThemOnceContactIsOverToo) {
  Attempt gang = Gang();
  TakePromise(At(3), At(6), &gang.members[2]);
  const Fenced fenced = DeadBy(kTimes, gang, gang.members[0], At(0));
  EXPECT_EQ(fenced.at, At(6));  // contact until 5, and what killing takes
  EXPECT_EQ(fenced.by, "pc3");
}

TEST(FenceTest, WhatWasVouchedForBeforeThePromiseHolds) {
  Attempt gang = Gang();
  TakePromise(At(4), At(7), &gang.members[1]);
  EXPECT_EQ(DeadBy(kTimes, gang, gang.members[0], At(0)).at, At(7));
}

TEST(FenceTest, APromiseThatEndsTooSoonProvesNothing) {
  Attempt gang = Gang();
  TakePromise(At(0), At(3), &gang.members[1]);
  EXPECT_EQ(DeadBy(kTimes, gang, gang.members[0], At(0)).at, MonoTime::Infinite());
}

TEST(FenceTest, PromisesAddUpOnlyWithoutAGap) {
  Attempt gang = Gang();
  TakePromise(At(0), At(3), &gang.members[1]);
  TakePromise(At(2), At(5), &gang.members[1]);
  EXPECT_EQ(DeadBy(kTimes, gang, gang.members[0], At(0)).at, At(6));
  TakePromise(At(5), At(8), &gang.members[1]);
  EXPECT_EQ(DeadBy(kTimes, gang, gang.members[0], At(0)).at, At(8));
}

TEST(FenceTest, TheLostNodesOwnPromiseProvesNothing) {
  Attempt gang = Gang();
  TakePromise(At(0), MonoTime::Infinite(), &gang.members[0]);
  EXPECT_EQ(DeadBy(kTimes, gang, gang.members[0], At(0)).at, MonoTime::Infinite());
}

TEST(FenceTest, AnAttemptThatIsNotWitnessedIsNotFencedByOthers) {
  Attempt gang = Gang();
  gang.witnessed = false;
  TakePromise(At(0), MonoTime::Infinite(), &gang.members[1]);
  EXPECT_EQ(DeadBy(kTimes, gang, gang.members[0], At(0)).at, MonoTime::Infinite());
}

}  // namespace
}  // namespace hpc::coordinator
