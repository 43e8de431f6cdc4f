#include "client/cli/forms/plot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace hpc::client {
namespace {

TEST(PlotTest, ACurveWithItsLargestAndSmallestValueAndItsFirstAndLastStep) {
  EXPECT_EQ(Plot({{0, 4}, {1, 2}, {2, 1}, {3, 0.5}}, 4, 2),
            "           4 ⠱⡀⠀⠀\n"
            "         0.5 ⠀⠑⠢⣀\n"
            "             0  3\n");
}

TEST(PlotTest, PointsAreJoinedInTheOrderOfTheirSteps) {
  EXPECT_EQ(Plot({{3, 0.5}, {0, 4}, {2, 1}, {1, 2}}, 4, 2),
            Plot({{0, 4}, {1, 2}, {2, 1}, {3, 0.5}}, 4, 2));
}

TEST(PlotTest, OnePointIsInTheMiddle) {
  EXPECT_EQ(Plot({{7, 1}}, 2, 1),
            "           1 ⠠⠀\n"
            "             7\n");
}

TEST(PlotTest, WhereThereIsNoNumberTheCurveHasAGap) {
  EXPECT_EQ(Plot({{0, NAN}, {1, HUGE_VAL}}, 4, 2), "");
  EXPECT_EQ(Plot({{0, 1}, {1, NAN}, {2, 2}}, 2, 1),
            "           2 ⡀⠈\n"
            "             0 2\n");
}

TEST(PlotTest, TheLargestNumbersDoNotOverflow) {
  constexpr double kMost = std::numeric_limits<double>::max();
  EXPECT_EQ(Plot({{0, -kMost}, {1, kMost}}, 2, 1).substr(13, 6), "⡠⠊");
}

}  // namespace
}  // namespace hpc::client
