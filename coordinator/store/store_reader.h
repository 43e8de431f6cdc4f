// What clients are shown of the store: filters, rows, and the reader that finds them.
#ifndef HPC_COORDINATOR_STORE_STORE_READER_H_
#define HPC_COORDINATOR_STORE_STORE_READER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "coordinator/core/values/records.h"
#include "coordinator/store/store.h"

namespace hpc::coordinator {

// Which parts of a run's RunExtras are read.
struct RunParts {
  bool nodes = true;
  bool command = true;
  bool results = false;  // parameters and metrics
};

struct RunFilter {
  std::vector<RunState> states;  // empty: any
  std::optional<std::string> experiment, user, name;
  std::optional<std::string> tag;
  RunId before = 0;   // only ids below; 0: no bound
  RunId above = 0;    // only ids above
  int64_t limit = 0;  // newest first; 0: no limit
  RunParts parts;
};

struct MetricSummary {
  std::string key;
  int64_t points = 0;
  int64_t last_step = 0;
  double last = 0, min = 0, max = 0;
};

// What a listing shows of a run besides its record.
struct RunExtras {
  RunId run = 0;
  int32_t attempts = 0;            // as in the run's record
  std::vector<std::string> nodes;  // the nodes of the newest attempt, by node rank
  std::vector<std::string> command;
  // Only with RunParts::results: parameters in the order given, and metrics by key.
  std::vector<std::pair<std::string, std::string>> params;
  std::vector<MetricSummary> metrics;
};

// A row of the run listing.
struct RunRow {
  RunRecord record;  // what only placing and running it needs is left at its default
  RunExtras extras;
};

struct ExperimentRow {
  std::string name;
  int64_t runs = 0;
  absl::Time created_at;
  absl::Time last_run_at;
};

// Events of a kind "security. ..." are shown to admins only.
enum class SecurityEvents { kWithAll, kWithout, kOnly };

struct EventFilter {
  EventId after = 0;  // only ids above
  RunId run = 0;      // 0: any
  std::string node;   // "": any
  SecurityEvents security = SecurityEvents::kWithAll;
  int64_t limit = 1000;  // oldest first
  bool newest = false;   // take the newest `limit` of them instead (still oldest first)
};

struct MetricFilter {
  RunId run = 0;
  std::string key;        // "": all keys
  int64_t after_row = 0;  // resume behind this row
  int64_t limit = 10000;
};

struct MetricRow {
  int64_t row = 0;
  MetricPoint point;
};

// Reads on a connection of its own. Any thread may use it, but only one at a time. It never waits
// for whoever writes to the store, and nobody who writes waits for it.
class StoreReader {
 public:
  virtual ~StoreReader() = default;

  // Calls `body`. All that is read in it is of one moment, at which everything was there that
  // Store::Commit had returned for before. Returns what `body` returns.
  virtual absl::Status InSnapshot(absl::FunctionRef<absl::Status()> body) = 0;

  // NotFound: there is no such run.
  virtual absl::StatusOr<RunDetail> GetRun(RunId run) = 0;
  virtual absl::StatusOr<std::vector<RunRow>> ListRuns(const RunFilter& filter) = 0;
  // Fills in the rest of `runs`. Each has its number and attempts already, and the newest run is
  // first.
  virtual absl::Status DescribeRuns(RunParts parts, std::vector<RunExtras>* runs) = 0;
  virtual absl::StatusOr<std::vector<ExperimentRow>> ListExperiments() = 0;
  virtual absl::StatusOr<std::vector<EventRecord>> ListEvents(const EventFilter& filter) = 0;
  virtual absl::StatusOr<std::vector<MetricSummary>> SummarizeMetrics(RunId run) = 0;
  virtual absl::StatusOr<std::vector<MetricRow>> ListMetrics(const MetricFilter& filter) = 0;
  virtual absl::StatusOr<std::vector<LogSegmentRecord>> LogSegments(RunId run) = 0;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_STORE_STORE_READER_H_
