#include "coordinator/runtime/clock_reading.h"

#include <gtest/gtest.h>

namespace hpc::coordinator {
namespace {

ClockReading At(const char* boot, double zero_s) {
  return {boot, absl::FromUnixSeconds(1'700'000'000) + absl::Seconds(zero_s)};
}

TEST(ClockReadingTest, OnOneBootTheDifferenceIsHowFarTheClockWasSet) {
  EXPECT_EQ(SetBetween(At("b1", 0), At("b1", 2)), absl::Seconds(2));
  EXPECT_EQ(SetBetween(At("b1", 0), At("b1", -3600)), -absl::Hours(1));
}

TEST(ClockReadingTest, NothingIsKnownAcrossABootOrWithoutAnEarlierReading) {
  EXPECT_EQ(SetBetween(At("b1", 0), At("b2", 2)), absl::ZeroDuration());
  EXPECT_EQ(SetBetween(std::nullopt, At("b1", 2)), absl::ZeroDuration());
  EXPECT_EQ(SetBetween(At("", 0), At("", 2)), absl::ZeroDuration());
}

TEST(ClockReadingTest, WhatClocksDifferByThemselvesIsNoChange) {
  EXPECT_EQ(SetBetween(At("b1", 0), At("b1", 0.005)), absl::ZeroDuration());
  ClockNote note;
  EXPECT_TRUE(note.Changed(At("b1", 0)));
  EXPECT_FALSE(note.Changed(At("b1", 0.005)));
  EXPECT_EQ(note.Changed(At("b1", 2)), At("b1", 2));
  EXPECT_FALSE(note.Changed(At("b1", 2)));
}

TEST(ClockReadingTest, TheClocksOfThisMachineStandStillToEachOther) {
  EXPECT_EQ(SetBetween(ReadClocks(), ReadClocks()), absl::ZeroDuration());
  EXPECT_FALSE(ReadClocks().boot_id.empty());
}

}  // namespace
}  // namespace hpc::coordinator
