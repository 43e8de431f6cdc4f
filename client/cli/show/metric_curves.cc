#include "client/cli/show/metric_curves.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace hpc::client {
namespace {

// By attempt, the first first.
using Attempts = std::map<int32_t, std::vector<const v1::MetricPoint*>>;

int64_t FirstStep(const std::vector<const v1::MetricPoint*>& points) {
  int64_t first = std::numeric_limits<int64_t>::max();
  for (const v1::MetricPoint* point : points) first = std::min(first, point->step());
  return first;
}

std::vector<PlotPoint> WhatCounts(const Attempts& attempts) {
  std::vector<PlotPoint> counts;
  int64_t superseded_from = std::numeric_limits<int64_t>::max();
  for (auto attempt = attempts.rbegin(); attempt != attempts.rend(); ++attempt) {
    for (const v1::MetricPoint* point : attempt->second) {
      if (point->step() >= superseded_from) continue;
      counts.push_back({static_cast<double>(point->step()), point->value()});
    }
    superseded_from = std::min(superseded_from, FirstStep(attempt->second));
  }
  return counts;
}

}  // namespace

std::map<std::string, MetricCurve> MetricCurves(const std::vector<v1::MetricPoint>& points) {
  std::map<std::string, std::map<int32_t, Attempts>> by_key;
  for (const v1::MetricPoint& point : points) {
    by_key[point.key()][point.rank()][point.attempt()].push_back(&point);
  }
  std::map<std::string, MetricCurve> curves;
  for (const auto& [key, ranks] : by_key) {
    MetricCurve& curve = curves[key];
    curve.rank = ranks.begin()->first;
    for (auto other = std::next(ranks.begin()); other != ranks.end(); ++other) {
      curve.other_ranks.insert(other->first);
    }
    curve.points = WhatCounts(ranks.begin()->second);
  }
  return curves;
}

}  // namespace hpc::client
