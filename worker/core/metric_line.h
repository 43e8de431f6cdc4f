// One line of a rank's metrics file: a flat JSON object such as
//   {"step": 10, "time": 1795219562.5, "loss": 0.25, "accuracy": NaN}
#ifndef HPC_WORKER_CORE_METRIC_LINE_H_
#define HPC_WORKER_CORE_METRIC_LINE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace hpc::worker {

struct MetricLine {
  std::optional<int64_t> step;     // "step": a whole number
  std::optional<absl::Time> time;  // "time": seconds since 1970
  std::vector<std::pair<std::string, double>> values;

  // Whether the line has the key "checkpoint_saved", by which a rank says that a checkpoint is
  // whole (hpc.checkpoint_saved()). The key is one of `values`, too.
  bool TellsOfCheckpoint() const;
};

// Values are numbers (NaN, Infinity and -Infinity included, as Python writes them) or true and
// false, which count as 1 and 0. InvalidArgument, with the column (from 1), for everything else:
// other values, nested ones, a key twice, a bad key name, invalid UTF-8, NUL, trailing text.
absl::StatusOr<MetricLine> ParseMetricLine(absl::string_view line);

}  // namespace hpc::worker

#endif  // HPC_WORKER_CORE_METRIC_LINE_H_
