// Metric points on their way to the store. A batch is identified by the offset in the metrics file
// behind it. One that comes again after a reconnect is dropped and acknowledged, and so are points
// beyond the limits of a run.
#ifndef HPC_COORDINATOR_RUNTIME_METRIC_INTAKE_H_
#define HPC_COORDINATOR_RUNTIME_METRIC_INTAKE_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/store/store.h"

namespace hpc::coordinator {

struct MetricReceipt {
  std::string node;  // the node to tell
  MetricOffset offset;
};

// How much is kept of one run.
struct MetricLimits {
  int64_t bytes = int64_t{1} << 30;  // of metrics files
  size_t keys = 2000;                // every listing of the run shows them all
};

class MetricIntake {
 public:
  explicit MetricIntake(Store* store, const MetricLimits& limits = {})
      : store_(store), limits_(limits) {}

  // `awaited`: nothing will follow from this rank, and somebody may be waiting for just that. If
  // the points have brought the run to a limit, returns which one, in words for whoever reads its
  // metrics; otherwise "".
  absl::StatusOr<std::string> Add(const std::string& node, const MetricOffset& offset,
                                  std::vector<MetricPoint> points, bool awaited);

  bool dirty() const { return !due_.empty(); }
  // The points include the last ones of a rank, which are awaited.
  bool urgent() const { return urgent_; }

  // Moves everything into `batch`, which stays empty if nothing is new. What is returned may be
  // acknowledged once the batch is committed.
  std::vector<MetricReceipt> Flush(WriteBatch* batch);

  // Up to where the metrics file of each rank is known, by rank. Ranks that never sent anything are
  // missing.
  absl::StatusOr<std::map<int32_t, int64_t>> Offsets(AttemptRef ref);
  // No attempt of the run will send any more.
  void Forget(RunId run);

 private:
  struct Run {
    std::map<int32_t, std::map<int32_t, int64_t>> offsets;  // by attempt, by rank
    int64_t bytes = 0;                                      // of all metrics files
    std::set<std::string> keys;
    bool keys_cut = false;
  };
  struct Due {
    MetricReceipt receipt;
    bool is_new = false;  // its offset is not stored yet
  };
  absl::StatusOr<Run*> Known(RunId run);
  // Removes the points whose key is one too many. Returns the first such key, or "".
  std::string Keep(std::vector<MetricPoint> points, Run* run);

  Store* const store_;
  const MetricLimits limits_;
  std::map<RunId, Run> known_;
  std::vector<MetricPoint> points_;
  bool urgent_ = false;
  std::map<std::pair<AttemptRef, int32_t>, Due> due_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RUNTIME_METRIC_INTAKE_H_
