#include "train/program/training_position.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "train/checkpoint/checkpoint_manifest.h"

namespace hpc::train {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(TrainingPositionTest, IsWhatTheCheckpointSaid) {
  const TrainingPosition before = {
      .steps = 70, .epoch = 3, .done = 64, .samples = 2064, .skipped = 2};
  const TrainingPosition after = PositionOf(70, ValuesOf(before, 1000), 1000);
  EXPECT_EQ(after.steps, 70);
  EXPECT_EQ(after.epoch, 3);
  EXPECT_EQ(after.done, 64);
  EXPECT_EQ(after.samples, 2064);
  EXPECT_EQ(after.skipped, 2);
}

TEST(TrainingPositionTest, BehindTheLastSampleOfAnEpochTheNextOneBegins) {
  EXPECT_THAT(ValuesOf({.epoch = 3, .done = 1000}, 1000),
              ::testing::IsSupersetOf(CheckpointValues{{"epoch", "4"}, {"done", "0"}}));
  const TrainingPosition position = PositionOf(
      1, {{"epoch", "3"}, {"done", "1000"}, {"samples", "3000"}, {"skipped", "0"}}, 1000);
  EXPECT_EQ(position.epoch, 4);
  EXPECT_EQ(position.done, 0);
}

TEST(TrainingPositionTest, WhatCannotBeIsRefusedByName) {
  auto reading = [](const std::string& key, const std::string& value) {
    return [=] {
      CheckpointValues values = ValuesOf({.done = 5}, 1000);
      values[key] = value;
      PositionOf(9, values, 1000);
    };
  };
  EXPECT_THAT(reading("epoch", "0"),
              ThrowsMessage<CheckpointError>(HasSubstr("step 9 is damaged: its 'epoch' is 0")));
  EXPECT_THAT(reading("samples", "-1"), ThrowsMessage<CheckpointError>(HasSubstr("'samples'")));
  EXPECT_THAT(reading("done", "nan"), ThrowsMessage<CheckpointError>(HasSubstr("'done'")));
  EXPECT_THAT(reading("skipped", "many"),
              ThrowsMessage<CheckpointError>(HasSubstr("'skipped' is many")));
  EXPECT_THAT(reading("epoch", "2.5"), ThrowsMessage<CheckpointError>(HasSubstr("is 2.5")));
  EXPECT_THAT([] { PositionOf(9, {}, 1000); },
              ThrowsMessage<CheckpointError>(HasSubstr("step 9 does not say 'epoch'")));
  EXPECT_THAT(
      reading("done", "1001"),
      ThrowsMessage<CheckpointError>(HasSubstr("1001 samples into an epoch, but there are 1000")));
}

}  // namespace
}  // namespace hpc::train
