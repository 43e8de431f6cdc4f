#include "worker/core/metric_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "common/status_matchers.h"

namespace hpc::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using testing::StatusIs;

TEST(MetricLineTest, ReadsStepTimeAndValues) {
  const auto line =
      ParseMetricLine(R"({"step": 10, "time": 1795219562.5, "loss": 0.25, "n": -3e2})");
  ASSERT_OK(line);
  EXPECT_EQ(line->step, 10);
  EXPECT_EQ(line->time, absl::FromUnixMillis(1795219562500));
  EXPECT_THAT(line->values, ElementsAre(Pair("loss", 0.25), Pair("n", -300.0)));
}

TEST(MetricLineTest, StepAndTimeMayBeMissing) {
  const auto line = ParseMetricLine(R"({"loss":1})");
  ASSERT_OK(line);
  EXPECT_FALSE(line->step);
  EXPECT_FALSE(line->time);
}

TEST(MetricLineTest, AnEmptyObjectHasNoValues) {
  const auto line = ParseMetricLine(" { } ");
  ASSERT_OK(line);
  EXPECT_TRUE(line->values.empty());
}

TEST(MetricLineTest, NotANumberAndInfinitiesAreValues) {
  const auto line = ParseMetricLine(R"({"a": NaN, "b": Infinity, "c": -Infinity})");
  ASSERT_OK(line);
  EXPECT_TRUE(std::isnan(line->values[0].second));
  EXPECT_EQ(line->values[1].second, HUGE_VAL);
  EXPECT_EQ(line->values[2].second, -HUGE_VAL);
}

TEST(MetricLineTest, TrueAndFalseAreOneAndZero) {
  EXPECT_THAT(ParseMetricLine(R"({"a": true, "b": false})")->values,
              ElementsAre(Pair("a", 1.0), Pair("b", 0.0)));
}

TEST(MetricLineTest, KeysMayBeEscaped) {
  EXPECT_THAT(ParseMetricLine(R"({"a\"b\\c\/d": 1, "\u00e4\ud83d\ude00": 2})")->values,
              ElementsAre(Pair("a\"b\\c/d", 1.0), Pair("\xC3\xA4\xF0\x9F\x98\x80", 2.0)));
}

TEST(MetricLineTest, DoublesSurviveExactly) {
  EXPECT_EQ(ParseMetricLine(R"({"a": 0.1})")->values[0].second, 0.1);
  EXPECT_EQ(ParseMetricLine(R"({"a": 1.7976931348623157e308})")->values[0].second,
            1.7976931348623157e308);
  EXPECT_EQ(ParseMetricLine(R"({"a": 1e-400})")->values[0].second, 0.0);
}

struct Bad {
  const char* line;
  const char* message;
};

class BadLineTest : public ::testing::TestWithParam<Bad> {};

TEST_P(BadLineTest, IsRefusedWithItsColumn) {
  EXPECT_THAT(ParseMetricLine(GetParam().line),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(
    MetricLineTest, BadLineTest,
    ::testing::Values(Bad{"", "column 1: expected '{'"}, Bad{"[1]", "column 1: expected '{'"},
                      Bad{R"({"a" 1})", "column 6: expected ':'"},
                      Bad{R"({"a": "x"})", "column 7: the value of \"a\" is not a number"},
                      Bad{R"({"a": null})", "column 7: the value of \"a\" is not a number"},
                      Bad{R"({"a": {"b": 1}})", "column 7: the value of \"a\" is not a number"},
                      Bad{R"({"a": 1)", "column 8: expected ',' or '}'"},
                      Bad{R"({"a": 1} x)", "column 10: text behind the object"},
                      Bad{R"({"a": 1, })", "column 10: expected a key in quotes"},
                      Bad{R"({"a": 01})", "column 7: a leading zero"},
                      Bad{R"({"a": 1.})", "column 9: expected a digit behind '.'"},
                      Bad{R"({"a": 1e})", "column 9: expected a digit in the exponent"},
                      Bad{R"({"a": -})", "column 8: expected a digit"},
                      Bad{R"({"a": 1e999})", "column 7: the number is too large"},
                      Bad{R"({"a": 1, "a": 2})", "column 10: \"a\" is there twice"},
                      Bad{R"({"step": 1.5})", "column 10: \"step\" is not a whole number"},
                      Bad{R"({"step": NaN})", "column 10: \"step\" is not a whole number"},
                      Bad{R"({"step": 1e300})", "column 10: \"step\" is not a whole number"},
                      Bad{R"({"step": 1, "step": 2})", "column 13: \"step\" is there twice"},
                      Bad{R"({"time": -1})", "column 10: \"time\" is not in seconds"},
                      Bad{R"({"time": NaN})", "column 10: \"time\" is not in seconds"},
                      Bad{R"({"": 1})", "column 2: the key"},
                      Bad{R"({"a\n": 1})", "column 2: the key"},
                      Bad{R"({"a\q": 1})", "column 5: an unknown escape"},
                      Bad{R"({"\ud800": 1})", "half of a surrogate pair"},
                      Bad{R"({"\udc00": 1})", "half of a surrogate pair"},
                      Bad{R"({"\u12g4": 1})", "hexadecimal"}, Bad{R"({"a)", "the key does not end"},
                      Bad{"{\"a\tb\": 1}", "a control character in a key"}));

TEST(MetricLineTest, InvalidUtf8IsRefused) {
  EXPECT_THAT(ParseMetricLine("{\"a\xff\": 1}"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not valid UTF-8")));
}

TEST(MetricLineTest, NulIsRefused) {
  EXPECT_THAT(ParseMetricLine(absl::string_view("{\"a\": 1\0}", 9)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("NUL")));
  EXPECT_THAT(ParseMetricLine(R"({"a\u0000b": 1})"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("NUL")));
}

}  // namespace
}  // namespace hpc::worker
