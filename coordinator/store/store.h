// Everything the coordinator must not forget. The one implementation is in sqlite_store.h;
// docs/STORAGE.md describes the tables.
#ifndef HPC_COORDINATOR_STORE_STORE_H_
#define HPC_COORDINATOR_STORE_STORE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "coordinator/core/values/cluster_options.h"
#include "coordinator/core/values/effects.h"
#include "coordinator/core/values/model.h"
#include "coordinator/trust/records.h"

namespace hpc::coordinator {

// One logged value. NaN and infinities are values like any other.
struct MetricPoint {
  AttemptRef ref;
  int32_t rank = 0;
  std::string key;
  int64_t step = 0;
  double value = 0;
  absl::Time at;
};

// Up to where a rank's metrics file has been stored. It is written together with the points, so
// that a batch which is sent again is recognised.
struct MetricOffset {
  AttemptRef ref;
  int32_t rank = 0;
  int64_t offset = 0;  // bytes of the file

  bool operator==(const MetricOffset&) const = default;
};

// The environment in which a node ran an attempt: facts ("python" -> "3.11.2", "torch", "cuda",
// "nccl", "driver", "os") and the variables that were added to the ranks' environment.
struct EnvironmentRecord {
  AttemptRef ref;
  std::string node;
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<std::pair<std::string, std::string>> added;

  bool operator==(const EnvironmentRecord&) const = default;
};

// One file of a run's log (log_store.h).
struct LogSegmentRecord {
  RunId run = 0;
  int64_t first_position = 0;  // position in the run's log
  int64_t bytes = 0;           // uncompressed, headers included
  int64_t stored_bytes = 0;    // on disk
  bool sealed = false;         // compressed and complete

  bool operator==(const LogSegmentRecord&) const = default;
};

// One stream of one rank that has ended.
struct LogStreamRecord {
  AttemptRef ref;
  int32_t rank = 0;
  bool is_stderr = false;
  int64_t bytes = 0;      // stored
  int64_t cut_bytes = 0;  // written by the rank beyond the limit, and dropped

  bool operator==(const LogStreamRecord&) const = default;
};

// One transaction. When Commit returns OK all of it is durable, otherwise nothing of it is.
struct WriteBatch {
  std::vector<Change> changes;
  // The programs of the runs that are new in `changes`. A request id that is not empty belongs to
  // one run only: whoever fills a batch looks it up first, in the store and in the batch itself.
  std::vector<std::pair<RunId, RunProgram>> programs;
  std::vector<EnvironmentRecord> environments;
  std::vector<MetricPoint> metrics;
  std::vector<MetricOffset> metric_offsets;
  std::vector<LogSegmentRecord> log_segments;
  std::vector<LogStreamRecord> log_streams;
  std::vector<TrustRecord> trust;

  bool empty() const {
    return changes.empty() && programs.empty() && environments.empty() && metrics.empty() &&
           metric_offsets.empty() && log_segments.empty() && log_streams.empty() && trust.empty();
  }
};

// Which parts of a run's RunExtras are read.
struct RunParts {
  bool nodes = true;
  bool command = true;
  bool results = false;  // parameters and metrics
};

struct RunFilter {
  std::vector<RunState> states;  // empty: any
  std::optional<std::string> experiment;
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

struct RunDetail {
  RunRecord record;
  RunProgram program;
  std::vector<AttemptRecord> attempts;
  std::vector<PlacementRecord> placements;
  std::vector<RankRecord> ranks;
  std::vector<EnvironmentRecord> environments;
  std::vector<LogStreamRecord> log_streams;
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

class Store {
 public:
  virtual ~Store() = default;

  // The state that a restarted coordinator begins from.
  virtual absl::StatusOr<Snapshot> Load() = 0;

  virtual absl::StatusOr<TrustSnapshot> LoadTrust() = 0;

  // ResourceExhausted: the disk is full. Unavailable: another process holds the lock for too long.
  // DataLoss: the database is damaged. FailedPrecondition: the file was deleted or replaced. After
  // an error nothing of the batch is stored.
  virtual absl::Status Commit(const WriteBatch& batch) = 0;

  // Reads see everything that Commit has returned for. NotFound: there is no such run.
  virtual absl::StatusOr<RunDetail> GetRun(RunId run) = 0;
  virtual absl::StatusOr<RunProgram> GetProgram(RunId run) = 0;
  virtual absl::StatusOr<RunRecord> GetRunRecord(RunId run) = 0;
  // The runs that ended at `since` or later and still have a rank whose stream has not ended in the
  // log.
  virtual absl::StatusOr<std::vector<RunId>> RunsAwaitingOutput(absl::Time since) = 0;
  virtual absl::StatusOr<RunId> FindRequest(const std::string& request_id) = 0;
  virtual absl::StatusOr<std::vector<RunRow>> ListRuns(const RunFilter& filter) = 0;
  // Fills in the rest of `runs`. Each has its number and attempts already, and the newest run is
  // first.
  virtual absl::Status DescribeRuns(RunParts parts, std::vector<RunExtras>* runs) = 0;
  virtual absl::StatusOr<std::vector<ExperimentRow>> ListExperiments() = 0;
  virtual absl::StatusOr<std::vector<EventRecord>> ListEvents(const EventFilter& filter) = 0;
  virtual absl::StatusOr<std::vector<MetricSummary>> SummarizeMetrics(RunId run) = 0;
  virtual absl::StatusOr<std::vector<MetricRow>> ListMetrics(const MetricFilter& filter) = 0;
  // The offsets of all attempts of a run.
  virtual absl::StatusOr<std::vector<MetricOffset>> MetricOffsets(RunId run) = 0;
  virtual absl::StatusOr<std::vector<LogSegmentRecord>> LogSegments(RunId run) = 0;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_STORE_STORE_H_
