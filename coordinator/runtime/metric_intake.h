// Metric points on their way to the store. A batch is known by the offset of the metrics file
// behind it: one that comes again after a reconnect is dropped, and acknowledged. So is what a run
// records beyond its limits.
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
  std::string node;  // which to tell
  MetricOffset offset;
};

// What is kept of one run.
struct MetricLimits {
  int64_t bytes = int64_t{1} << 30;  // of metrics files
  size_t keys = 2000;                // every listing of the run shows them all
};

class MetricIntake {
 public:
  explicit MetricIntake(Store* store, const MetricLimits& limits = {})
      : store_(store), limits_(limits) {}

  // `awaited`: nothing will follow from this rank, and somebody may be waiting for just that. If it
  // has brought the run to a limit, which one, in words for whoever reads its metrics; else "".
  absl::StatusOr<std::string> Add(const std::string& node, const MetricOffset& offset,
                                  std::vector<MetricPoint> points, bool awaited);

  bool dirty() const { return !due_.empty(); }
  // A rank's last points are among them, and awaited.
  bool urgent() const { return urgent_; }

  // Moves everything into `batch`, which stays empty if nothing is new; what is returned may be
  // acknowledged once that is committed.
  std::vector<MetricReceipt> Flush(WriteBatch* batch);

  // Up to where the file of a rank is known, by rank. Ranks that never sent anything are missing.
  absl::StatusOr<std::map<int32_t, int64_t>> Offsets(AttemptRef ref);
  // No attempt of the run will send any more.
  void Forget(RunId run);

 private:
  struct Run {
    std::map<int32_t, std::map<int32_t, int64_t>> offsets;  // by attempt, by rank
    int64_t bytes = 0;                                      // of all of them
    std::set<std::string> keys;
    bool keys_cut = false;
  };
  struct Due {
    MetricReceipt receipt;
    bool is_new = false;  // its offset is not stored yet
  };
  absl::StatusOr<Run*> Known(RunId run);
  // Without those of one key too many; the first of these, or "".
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
