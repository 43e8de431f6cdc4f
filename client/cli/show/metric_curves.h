// The curves of a run's metrics, for drawing. Pure.
#ifndef HPC_CLIENT_CLI_SHOW_METRIC_CURVES_H_
#define HPC_CLIENT_CLI_SHOW_METRIC_CURVES_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "client/cli/forms/plot.h"
#include "hpc/v1/run.pb.h"

namespace hpc::client {

// One metric as one rank has measured it.
struct MetricCurve {
  int32_t rank = 0;
  std::set<int32_t> other_ranks;  // that have measured it, too
  std::vector<PlotPoint> points;
};

// Takes the points in any order, and gives a curve for each metric, by name. It is that of the
// lowest rank that has measured it. An attempt goes on from an earlier step than the one before it
// had reached: of each step only what the last attempt measured counts, and what an attempt had
// measured at or beyond the first step of a later one is left out.
std::map<std::string, MetricCurve> MetricCurves(const std::vector<v1::MetricPoint>& points);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_SHOW_METRIC_CURVES_H_
