#include "train/data/distributed_sampler.h"

#include <algorithm>
#include <random>
#include <stdexcept>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace hpc::train {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Steps = std::vector<std::vector<int64_t>>;

// Returns what all ranks use in each step of an epoch, in the order of ranks.
Steps Epoch(int64_t samples, int ranks, const SamplerOptions& options, int64_t epoch,
            int64_t done = 0) {
  Steps steps;
  for (int rank = 0; rank < ranks; ++rank) {
    DistributedSampler sampler(samples, rank, ranks, options);
    sampler.BeginEpoch(epoch, done);
    steps.resize(sampler.steps());
    for (int64_t step = 0; step < sampler.steps(); ++step) {
      const std::vector<int64_t> mine = sampler.Indices(step);
      steps[step].insert(steps[step].end(), mine.begin(), mine.end());
    }
  }
  return steps;
}

std::vector<int64_t> Together(const Steps& steps) {
  std::vector<int64_t> all;
  for (const auto& step : steps) all.insert(all.end(), step.begin(), step.end());
  return all;
}

TEST(DistributedSampler, EverySampleIsUsedOnceAnEpochInEveryRandomCase) {
  const unsigned seed = std::random_device()();
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  auto upto = [&](int most) { return static_cast<int>(random() % (most + 1)); };
  for (int i = 0; i < 300; ++i) {
    const int samples = 1 + upto(200), ranks = 1 + upto(6);
    SamplerOptions options = {.batch = 1 + upto(40), .seed = random(), .shuffle = upto(3) != 0};
    for (int rank = 0; rank < ranks && i % 2 == 0; ++rank) options.weights.push_back(upto(3));
    if (!options.weights.empty()) options.weights[0] += 0.5;
    const int64_t done = upto(3) == 0 ? upto(samples) : 0;
    const Steps steps = Epoch(samples, ranks, options, i, done);
    const SamplerOptions alone = {options.batch, options.seed, options.shuffle};
    EXPECT_EQ(steps, Epoch(samples, 1, alone, i, done)) << "one rank with the whole batch differs";
    for (size_t step = 0; step + 1 < steps.size(); ++step) {
      ASSERT_EQ(static_cast<int64_t>(steps[step].size()), options.batch);
    }
    std::vector<int64_t> all = Together(steps);
    const std::vector<int64_t> whole = Together(Epoch(samples, 1, alone, i));
    ASSERT_EQ(all, std::vector<int64_t>(whole.begin() + done, whole.end()));
    all.insert(all.end(), whole.begin(), whole.begin() + done);
    std::sort(all.begin(), all.end());
    for (int64_t sample = 0; sample < samples; ++sample) ASSERT_EQ(all[sample], sample);
    ASSERT_EQ(static_cast<int>(all.size()), samples);
  }
}

TEST(DistributedSampler, PartsFollowTheRanksWeights) {
  EXPECT_THAT(SplitBatch(10, {1, 1, 2}), ElementsAre(3, 2, 5));
  EXPECT_THAT(SplitBatch(1, {1, 1}), ElementsAre(1, 0));
  EXPECT_THAT(SplitBatch(8, {0, 3, 1}), ElementsAre(0, 6, 2));
  DistributedSampler sampler(25, 1, 2, {.batch = 10, .weights = {1, 4}});
  EXPECT_EQ(sampler.Indices(0).size(), 8);
  EXPECT_EQ(sampler.Indices(2).size(), 4) << "of the short batch of 5 at the end";
  EXPECT_EQ(sampler.SamplesOfAll(2), 5);
}

TEST(DistributedSampler, EpochsDifferAndTheSeedDecides) {
  const SamplerOptions options = {.batch = 50, .seed = 3};
  EXPECT_EQ(Epoch(50, 1, options, 1), Epoch(50, 1, options, 1));
  EXPECT_NE(Epoch(50, 1, options, 1), Epoch(50, 1, options, 2));
  EXPECT_NE(Epoch(50, 1, options, 1), Epoch(50, 1, {.batch = 50, .seed = 4}, 1));
  EXPECT_THAT(Epoch(3, 1, {.batch = 2, .shuffle = false}, 7),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2)));
}

TEST(DistributedSampler, TheOrderOfASeedNeverChanges) {
  EXPECT_THAT(Epoch(8, 1, {.batch = 8, .seed = 7}, 1)[0], ElementsAre(7, 5, 2, 3, 6, 4, 0, 1));
}

TEST(DistributedSampler, WhatCannotBeIsRefused) {
  auto error = [](auto make) -> std::string {
    try {
      make();
    } catch (const std::invalid_argument& thrown) {
      return thrown.what();
    }
    return "no error";
  };
  EXPECT_EQ(error([] { DistributedSampler(0, 0, 1, {}); }), "there are no samples to train on");
  EXPECT_THAT(error([] { DistributedSampler(1, 0, 1, {.batch = 0}); }), HasSubstr("1 or more"));
  EXPECT_THAT(error([] { DistributedSampler(1, 0, 2, {.weights = {1}}); }),
              HasSubstr("1 shares of the batch for 2 ranks"));
  EXPECT_THAT(error([] { SplitBatch(4, {0, 0}); }), HasSubstr("no rank has a share"));
  EXPECT_THAT(error([] { SplitBatch(4, {1e308, 1e308}); }), HasSubstr("sum is infinite"));
  EXPECT_THAT(error([] { SplitBatch(4, {1, -1}); }), HasSubstr("0 or more"));
  EXPECT_THAT(error([] { DistributedSampler(5, 0, 1, {}).BeginEpoch(0, 6); }),
              HasSubstr("6 samples of this epoch are done, but it has 5"));
}

}  // namespace
}  // namespace hpc::train
