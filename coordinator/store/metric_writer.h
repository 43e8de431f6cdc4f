// Stores metric points, and keeps the summary of each key up to date with them.
#ifndef HPC_COORDINATOR_STORE_METRIC_WRITER_H_
#define HPC_COORDINATOR_STORE_METRIC_WRITER_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/store/sqlite.h"
#include "coordinator/store/store_reader.h"

namespace hpc::coordinator {

// A MetricWriter serves one transaction: it remembers the keys and the row numbers that it has seen
// in it.
class MetricWriter {
 public:
  explicit MetricWriter(Connection* db) : db_(db) {}

  absl::Status Write(const std::vector<MetricPoint>& points);

 private:
  struct Key {
    int64_t id = 0;
    MetricSummary summary;
  };

  absl::StatusOr<Key*> FindKey(RunId run, const std::string& key);
  absl::StatusOr<int64_t*> LastRow(RunId run);
  absl::Status WriteSummary(const Key& key);

  Connection* db_;
  absl::flat_hash_map<std::pair<RunId, std::string>, Key> keys_;
  absl::flat_hash_map<RunId, int64_t> last_rows_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_STORE_METRIC_WRITER_H_
