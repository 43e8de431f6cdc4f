#include "train/program/options/remembered_options.h"

#include "gtest/gtest.h"

namespace hpc::train {
namespace {

TEST(RememberedOptions, WhatDiffersIsSaidWithWhatItWas) {
  TrainOptions before;
  before.lr = 0.1;
  TrainOptions now = before;
  EXPECT_EQ(OptionsThatDiffer(RememberedOptions(before), now), "");
  now.lr = 0.01;
  now.seed = 8;
  EXPECT_EQ(OptionsThatDiffer(RememberedOptions(before), now),
            "--seed 8 (was 7), --lr 0.01 (was 0.1)");
}

TEST(RememberedOptions, WhatDoesNotMatterIsNotSaid) {
  const TrainOptions before;
  TrainOptions now;
  now.epochs = 20;
  now.momentum = 0;
  now.workers = 3;
  now.data = "/elsewhere";
  EXPECT_EQ(OptionsThatDiffer(RememberedOptions(before), now), "");
  now.schedule = "cosine";
  EXPECT_EQ(OptionsThatDiffer(RememberedOptions(before), now),
            "--epochs 20 (was 8), --schedule cosine (was constant)");
}

TEST(RememberedOptions, OlderCheckpointsHaveNone) {
  TrainOptions now;
  now.lr = 3;
  EXPECT_EQ(OptionsThatDiffer({{"epoch", "1"}}, now), "");
}

}  // namespace
}  // namespace hpc::train
