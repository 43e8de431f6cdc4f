#include "client/cli/show/metric_curves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hpc::client {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

v1::MetricPoint Point(const std::string& key, int attempt, int rank, int64_t step, double value) {
  v1::MetricPoint point;
  point.set_key(key);
  point.set_attempt(attempt);
  point.set_rank(rank);
  point.set_step(step);
  point.set_value(value);
  return point;
}

std::vector<std::pair<double, double>> Pairs(const MetricCurve& curve) {
  std::vector<std::pair<double, double>> pairs;
  for (const PlotPoint& point : curve.points) pairs.emplace_back(point.x, point.y);
  return pairs;
}

TEST(MetricCurvesTest, TheCurveIsThatOfTheLowestRankAndTheOthersAreNamed) {
  const auto curves = MetricCurves({Point("loss", 1, 2, 0, 9), Point("loss", 1, 1, 0, 5),
                                    Point("loss", 1, 1, 1, 4), Point("lr", 1, 2, 0, 0.1)});
  EXPECT_EQ(curves.at("loss").rank, 1);
  EXPECT_THAT(curves.at("loss").other_ranks, ElementsAre(2));
  EXPECT_THAT(Pairs(curves.at("loss")), UnorderedElementsAre(std::pair(0., 5.), std::pair(1., 4.)));
  EXPECT_EQ(curves.at("lr").rank, 2);
  EXPECT_THAT(curves.at("lr").other_ranks, ElementsAre());
}

TEST(MetricCurvesTest, WhatAnAttemptMeasuredBeyondTheBeginningOfALaterOneIsLeftOut) {
  // The second attempt went on from step 1, where the checkpoint was.
  const auto curves = MetricCurves({Point("loss", 1, 0, 0, 5), Point("loss", 1, 0, 1, 4),
                                    Point("loss", 1, 0, 2, 7), Point("loss", 2, 0, 1, 3)});
  EXPECT_THAT(Pairs(curves.at("loss")), UnorderedElementsAre(std::pair(0., 5.), std::pair(1., 3.)));
}

TEST(MetricCurvesTest, ARunThatBeganAnewHasTheLastBeginning) {
  const auto curves = MetricCurves(
      {Point("loss", 1, 0, 0, 5), Point("loss", 2, 0, 3, 4), Point("loss", 3, 0, 0, 2)});
  EXPECT_THAT(Pairs(curves.at("loss")), ElementsAre(std::pair(0., 2.)));
}

}  // namespace
}  // namespace hpc::client
