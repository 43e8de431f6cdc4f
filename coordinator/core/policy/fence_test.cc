#include "coordinator/core/policy/fence.h"

#include <gtest/gtest.h>

#include "common/testing/at.h"

namespace hpc::coordinator {
namespace {

const FenceTimes kTimes(absl::Seconds(6));

// A gang on pc1, pc2 and pc3; the tests take pc1 as lost.
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
  EXPECT_EQ(fenced.at, At(6));  // contact ends at 5; killing takes 1 more
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

// Gives each of pc1 to pc3 one rank, and lets the part of `node_rank` end well.
void EndWell(size_t node_rank, Attempt* gang) {
  if (gang->ranks.empty()) {
    for (size_t i = 0; i < gang->members.size(); ++i) {
      gang->members[i].placement.node_rank = static_cast<int32_t>(i);
      gang->ranks.emplace_back().node = gang->members[i].placement.node;
    }
  }
  gang->members[node_rank].placement.returned = true;
  gang->ranks[node_rank].exit = protocol::RankExit{.exit_code = 0};
}

TEST(FenceTest, ThePromiseOfOneThatIsNotWaitedForProvesNothing) {
  Attempt gang = Gang();
  EndWell(2, &gang);
  TakePromise(At(3), At(60), &gang.members[2]);
  EXPECT_EQ(DeadBy(kTimes, gang, gang.members[0], At(0)).at, MonoTime::Infinite());
  EXPECT_EQ(DeadBy(kTimes, gang, gang.members[1], At(0)).at, MonoTime::Infinite());
}

TEST(FenceTest, ThatOfTheNodeOfRankZeroDoesAlways) {
  Attempt gang = Gang();
  EndWell(0, &gang);
  EndWell(2, &gang);
  TakePromise(At(3), At(6), &gang.members[0]);
  EXPECT_EQ(DeadBy(kTimes, gang, gang.members[1], At(0)).at, At(6));
}

TEST(FenceTest, WhereOnlyRankZeroIsLeftAllOthersMustPromise) {
  Attempt gang = Gang();
  EndWell(1, &gang);
  EndWell(2, &gang);
  TakePromise(At(3), At(7), &gang.members[1]);
  EXPECT_EQ(DeadBy(kTimes, gang, gang.members[0], At(0)).at, MonoTime::Infinite());
  TakePromise(At(4), At(8), &gang.members[2]);
  EXPECT_EQ(DeadBy(kTimes, gang, gang.members[0], At(0)).at, At(7));
}

TEST(FenceTest, APartThatEndedBadlyIsAPromise) {
  Attempt gang = Gang();
  EndWell(2, &gang);
  gang.ranks[2].exit->after_stop = true;
  TakePromise(At(1), MonoTime::Infinite(), &gang.members[2]);
  EXPECT_EQ(DeadBy(kTimes, gang, gang.members[0], At(0)).at, At(6));
}

TEST(FenceTest, AnAttemptThatIsNotWitnessedIsNotFencedByOthers) {
  Attempt gang = Gang();
  gang.witnessed = false;
  TakePromise(At(0), MonoTime::Infinite(), &gang.members[1]);
  EXPECT_EQ(DeadBy(kTimes, gang, gang.members[0], At(0)).at, MonoTime::Infinite());
}

}  // namespace
}  // namespace hpc::coordinator
