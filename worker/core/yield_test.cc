#include "worker/core/yield.h"

#include <gtest/gtest.h>

#include "common/clock.h"

namespace hpc::worker {
namespace {

using Due = Yield::Due;

class YieldTest : public ::testing::Test {
 protected:
  Now now() const { return clock_.Get(); }
  YieldRequest For(absl::Duration duration) const {
    YieldRequest request;
    request.duration = duration;
    request.reason = "a game";
    return request;
  }
  FakeClock clock_;
};

TEST_F(YieldTest, APcIsLentAtFirst) {
  Yield yield(now(), {});
  EXPECT_FALSE(yield.reclaimed());
  EXPECT_EQ(yield.NextDeadline(), MonoTime::Infinite());
}

TEST_F(YieldTest, WithoutALimitItStaysWithTheOwner) {
  Yield yield(now(), {});
  yield.Reclaim(now(), {});
  yield.OnPcFree(now());
  EXPECT_TRUE(yield.reclaimed());
  EXPECT_EQ(yield.Left(now()), std::nullopt);
  clock_.Advance(absl::Hours(1000));
  EXPECT_EQ(yield.Tick(now()), Due::kNothing);
  yield.Lend(now(), YieldTrigger::kCommand);
  EXPECT_FALSE(yield.reclaimed());
}

TEST_F(YieldTest, AfterItsTimeLimitItIsLentAgain) {
  Yield yield(now(), {});
  yield.Reclaim(now(), For(absl::Hours(2)));
  yield.OnPcFree(now());
  EXPECT_EQ(yield.Left(now()), absl::Hours(2));
  clock_.Advance(absl::Hours(2) - absl::Seconds(1));
  EXPECT_EQ(yield.Tick(now()), Due::kNothing);
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(yield.Tick(now()), Due::kTimeUp);
  EXPECT_FALSE(yield.reclaimed());
  EXPECT_EQ(yield.NextDeadline(), MonoTime::Infinite());
}

TEST_F(YieldTest, AskingAgainMovesTheLimitButNotTheBeginning) {
  Yield yield(now(), {});
  yield.Reclaim(now(), For(absl::Hours(1)));
  clock_.Advance(absl::Seconds(4));
  yield.Reclaim(now(), For(absl::Hours(3)));
  EXPECT_EQ(yield.Left(now()), absl::Hours(3));
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(yield.OnPcFree(now()), absl::Seconds(5));
}

TEST_F(YieldTest, RecordsHowLongTheReturnTook) {
  Yield yield(now(), {});
  yield.Reclaim(now(), {});
  EXPECT_TRUE(yield.yielding());
  clock_.Advance(absl::Milliseconds(700));
  EXPECT_EQ(yield.OnPcFree(now()), absl::Milliseconds(700));
  EXPECT_EQ(yield.last_return(), absl::Milliseconds(700));
  EXPECT_EQ(yield.OnPcFree(now()), std::nullopt);
}

TEST_F(YieldTest, SaysOnceThatThePcIsOverdue) {
  Yield yield(now(), {});
  yield.Reclaim(now(), {});
  EXPECT_EQ(yield.NextDeadline(), now().mono + absl::Seconds(12));
  clock_.Advance(absl::Seconds(12));
  EXPECT_EQ(yield.Tick(now()), Due::kOverdue);
  EXPECT_EQ(yield.Tick(now()), Due::kNothing);
  EXPECT_TRUE(yield.yielding());
}

TEST_F(YieldTest, WhatTheCoordinatorOrderedNeedNotBeToldToIt) {
  Yield yield(now(), {});
  YieldRequest request;
  request.trigger = YieldTrigger::kCoordinator;
  yield.Reclaim(now(), request);
  EXPECT_FALSE(yield.state().unsent);
  yield.Lend(now(), YieldTrigger::kCommand);
  EXPECT_TRUE(yield.state().unsent);
  yield.MarkSent();
  EXPECT_FALSE(yield.state().unsent);
}

TEST_F(YieldTest, AnUnsentReclaimThatRunsOutIsStillToBeTold) {
  Yield yield(now(), {});
  yield.Reclaim(now(), For(absl::Minutes(1)));
  clock_.Advance(absl::Minutes(1));
  EXPECT_EQ(yield.Tick(now()), Due::kTimeUp);
  EXPECT_TRUE(yield.state().unsent);
}

TEST_F(YieldTest, SurvivesARestart) {
  Yield before(now(), {});
  before.Reclaim(now(), For(absl::Hours(2)));
  const OwnerState saved = before.state();
  clock_.Advance(absl::Hours(1));
  Yield after(now(), saved);
  EXPECT_TRUE(after.reclaimed());
  EXPECT_EQ(after.Left(now()), absl::Hours(1));
  EXPECT_EQ(after.state().reason, "a game");
  clock_.Advance(absl::Hours(1));
  EXPECT_EQ(after.Tick(now()), Due::kTimeUp);
}

}  // namespace
}  // namespace hpc::worker
