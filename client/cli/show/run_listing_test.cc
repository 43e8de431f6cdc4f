#include "client/cli/show/run_listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "absl/strings/str_cat.h"

namespace hpc::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

v1::Run MakeRun(int64_t id, const std::string& user) {
  v1::Run run;
  run.set_id(id);
  run.set_name("train");
  run.set_experiment("lr");
  run.set_user(user);
  run.set_state(v1::RUN_STATE_RUNNING);
  run.set_min_nodes(2);
  run.set_max_nodes(2);
  return run;
}

void AddParam(const std::string& key, const std::string& value, v1::Run* run) {
  v1::KeyValue* param = run->add_params();
  param->set_key(key);
  param->set_value(value);
}

void AddMetric(const std::string& key, double last, v1::Run* run) {
  v1::MetricSummary* metric = run->add_metrics();
  metric->set_key(key);
  metric->set_last(last);
  metric->set_last_step(9);
  metric->set_points(2);
  metric->set_min(last);
  metric->set_max(8);
}

std::vector<v1::Run> TwoRuns() {
  std::vector<v1::Run> runs = {MakeRun(13, "bert"), MakeRun(12, "anna")};
  AddParam("lr", "0.1", &runs[0]);
  AddMetric("loss", 0.25, &runs[0]);
  AddParam("lr", "0.01", &runs[1]);
  AddParam("batch", "32", &runs[1]);
  AddMetric("acc", 0.9712345678, &runs[1]);
  AddMetric("loss", std::numeric_limits<double>::quiet_NaN(), &runs[1]);
  return runs;
}

TEST(RunListingTest, SaysWhoSubmittedARun) {
  Listing listing = RunListing({});
  AddRun(MakeRun(12, "anna"), &listing);
  EXPECT_EQ(listing.Finish(),
            "RUN  STATE    NAME   EXPERIMENT  USER  WANTS  NODES  SUBMITTED  TOOK  REASON\n"
            "12   running  train  lr          anna  2      -      -          -     -\n");
}

TEST(RunListingTest, JsonHasParametersAndMetrics) {
  Listing listing = RunListing({.json = true});
  for (const v1::Run& run : TwoRuns()) AddRun(run, &listing);
  const std::string json = listing.Finish();
  EXPECT_THAT(json, HasSubstr(R"("params":{"lr":"0.01","batch":"32"})"));
  EXPECT_THAT(
      json,
      HasSubstr(R"("metrics":{"loss":{"last":0.25,"last_step":9,"min":0.25,"max":8,"points":2}})"));
  EXPECT_THAT(json, HasSubstr(R"("loss":{"last":"NaN")"));
  EXPECT_THAT(json, HasSubstr(R"("user":"bert")"));
}

TEST(RunListingTest, RunsAreComparedSideBySide) {
  const Comparison comparison = CompareRuns(TwoRuns(), {}, {});
  EXPECT_EQ(comparison.table,
            "RUN  STATE    NAME   USER  TOOK  lr    batch  acc       loss  REASON\n"
            "13   running  train  bert  -     0.1   -      -         0.25  -\n"
            "12   running  train  anna  -     0.01  32     0.971235  nan   -\n");
  EXPECT_THAT(comparison.left_out, IsEmpty());
}

TEST(RunListingTest, OnlyTheMetricsThatWereNamedAreShown) {
  const std::string table = CompareRuns(TwoRuns(), {"loss", "f1"}, {}).table;
  EXPECT_THAT(table, HasSubstr("batch  loss  f1  REASON"));
  EXPECT_THAT(table, Not(HasSubstr("acc")));
}

std::vector<int64_t> Sorted(const std::string& key) {
  std::vector<v1::Run> runs;
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const double loss : {0.5, 0.25, kNan, 0.75}) {
    runs.push_back(MakeRun(static_cast<int64_t>(runs.size()) + 1, "anna"));
    AddMetric("loss", loss, &runs.back());
    runs.back().mutable_metrics(0)->set_min(-loss);
  }
  runs.push_back(MakeRun(5, "anna"));
  EXPECT_TRUE(SortRuns(key, &runs));
  std::vector<int64_t> ids;
  for (const v1::Run& run : runs) ids.push_back(run.id());
  return ids;
}

TEST(RunListingTest, RunsAreSortedByAMetricAndThoseWithoutItComeLast) {
  EXPECT_THAT(Sorted("loss"), ElementsAre(2, 1, 4, 3, 5));
  EXPECT_THAT(Sorted("-loss"), ElementsAre(4, 1, 2, 3, 5));
  EXPECT_THAT(Sorted("loss:min"), ElementsAre(4, 1, 2, 3, 5));
}

TEST(RunListingTest, RunsAreSortedByAParameterWhereNoMetricHasThatName) {
  std::vector<v1::Run> runs;
  for (const char* lr : {"0.1", "cosine", "1e-3", ""}) {
    runs.push_back(MakeRun(static_cast<int64_t>(runs.size()) + 1, "anna"));
    if (*lr != '\0') AddParam("lr", lr, &runs.back());
  }
  const auto sorted = [&](const std::string& key) {
    EXPECT_TRUE(SortRuns(key, &runs));
    std::vector<int64_t> ids;
    for (const v1::Run& run : runs) ids.push_back(run.id());
    return ids;
  };
  EXPECT_THAT(sorted("lr"), ElementsAre(3, 1, 2, 4));
  EXPECT_THAT(sorted("-lr"), ElementsAre(2, 1, 3, 4));
}

TEST(RunListingTest, AMetricThatIsNaNEverywhereIsThereAllTheSame) {
  v1::Run run = MakeRun(1, "anna");
  AddMetric("loss", std::numeric_limits<double>::quiet_NaN(), &run);
  std::vector<v1::Run> runs = {run};
  EXPECT_TRUE(SortRuns("loss", &runs));
}

TEST(RunListingTest, AMetricThatNoRunHasSortsNothing) {
  std::vector<v1::Run> runs = TwoRuns();
  EXPECT_FALSE(SortRuns("los", &runs));
  EXPECT_EQ(runs[0].id(), 13);
}

TEST(RunListingTest, TheBestValuesCanBeShown) {
  v1::Run run = MakeRun(1, "anna");
  AddMetric("loss", 0.5, &run);
  run.mutable_metrics(0)->set_min(0.125);
  EXPECT_THAT(CompareRuns({run}, {"loss:min"}, {}).table, HasSubstr("0.125"));
}

TEST(RunListingTest, WhatFindsNoRoomIsNamed) {
  v1::Run run = MakeRun(1, "anna");
  for (int i = 0; i < 10; ++i) AddMetric(absl::StrCat("m", i), i, &run);
  const Comparison comparison = CompareRuns({run}, {}, {});
  EXPECT_THAT(comparison.table, HasSubstr("m7  REASON"));
  EXPECT_THAT(comparison.left_out, ElementsAre("m8", "m9"));
}

TEST(RunListingTest, ALongParameterIsCut) {
  v1::Run run = MakeRun(1, "anna");
  AddParam("text", std::string(1000, 'x') + "\n", &run);
  EXPECT_THAT(CompareRuns({run}, {}, {}).table, HasSubstr(std::string(29, 'x') + "…  -"));
}

}  // namespace
}  // namespace hpc::client
