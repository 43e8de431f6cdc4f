#include "train/program/learning_rate.h"

#include "gtest/gtest.h"

namespace hpc::train {
namespace {

TrainOptions OptionsOf(int64_t warmup, const std::string& schedule) {
  TrainOptions options;
  options.lr = 1;
  options.warmup = warmup;
  options.schedule = schedule;
  return options;
}

TEST(LearningRateTest, GrowsEvenlyAndThenStays) {
  const TrainOptions options = OptionsOf(4, "constant");
  EXPECT_DOUBLE_EQ(LearningRate(options, 0, 100), 0.25);
  EXPECT_DOUBLE_EQ(LearningRate(options, 3, 100), 1);
  EXPECT_DOUBLE_EQ(LearningRate(options, 4, 100), 1);
  EXPECT_DOUBLE_EQ(LearningRate(options, 1000, 100), 1);
}

TEST(LearningRateTest, CosineFallsToATenthAndStaysThere) {
  const TrainOptions options = OptionsOf(10, "cosine");
  EXPECT_DOUBLE_EQ(LearningRate(options, 4, 110), 0.5);
  EXPECT_DOUBLE_EQ(LearningRate(options, 10, 110), 1);
  EXPECT_DOUBLE_EQ(LearningRate(options, 60, 110), 0.55);
  EXPECT_NEAR(LearningRate(options, 109, 110), 0.1, 1e-3);
  EXPECT_DOUBLE_EQ(LearningRate(options, 500, 110), 0.1);
}

TEST(LearningRateTest, AllStepsMayBeWarmup) {
  EXPECT_DOUBLE_EQ(LearningRate(OptionsOf(10, "cosine"), 10, 10), 1);
}

}  // namespace
}  // namespace hpc::train
