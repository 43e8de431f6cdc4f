// Everything the coordinator must not forget. Clients are answered from it by readers
// (store_reader.h). The one implementation is in sqlite_store.h;
// docs/STORAGE.md describes the tables.
#ifndef HPC_COORDINATOR_STORE_STORE_H_
#define HPC_COORDINATOR_STORE_STORE_H_

#include <cstdint>
#include <memory>
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
#include "coordinator/core/values/records.h"
#include "coordinator/trust/records.h"

namespace hpc::coordinator {

class StoreReader;

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

// How the wall clock stands to a clock that nobody sets.
struct ClockReading {
  std::string boot_id;  // of the machine
  absl::Time zero;      // what the wall clock showed when this boot's CLOCK_BOOTTIME was zero

  bool operator==(const ClockReading&) const = default;
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
  // By which the times of this and later batches are written. It makes no batch of its own.
  std::optional<ClockReading> clock;

  bool empty() const {
    return changes.empty() && programs.empty() && environments.empty() && metrics.empty() &&
           metric_offsets.empty() && log_segments.empty() && log_streams.empty() && trust.empty();
  }
};

// All that is known of a run but its events, metrics and output.
struct RunDetail {
  RunRecord record;
  RunProgram program;
  std::vector<AttemptRecord> attempts;
  std::vector<PlacementRecord> placements;
  std::vector<RankRecord> ranks;
  std::vector<EnvironmentRecord> environments;
  std::vector<LogStreamRecord> log_streams;
};

// What the core's thread, which owns it, writes and must know itself. What it reads is found by a
// number or a name, and is short.
class Store {
 public:
  virtual ~Store() = default;

  // The state that a restarted coordinator begins from.
  virtual absl::StatusOr<Snapshot> Load() = 0;

  // The newest reading of the clocks in any batch; nullopt: none.
  virtual absl::StatusOr<std::optional<ClockReading>> LoadClock() = 0;

  virtual absl::StatusOr<TrustSnapshot> LoadTrust() = 0;

  // ResourceExhausted: the disk is full. Unavailable: another process holds the lock for too long.
  // DataLoss: the database is damaged. FailedPrecondition: the file was deleted or replaced. After
  // an error nothing of the batch is stored.
  virtual absl::Status Commit(const WriteBatch& batch) = 0;

  // One more connection to the same data, for reading on a thread of its own. The store must
  // outlive it.
  virtual absl::StatusOr<std::unique_ptr<StoreReader>> OpenReader() = 0;

  // These see everything that Commit has returned for. NotFound: there is no such run.
  virtual absl::StatusOr<RunDetail> GetRun(RunId run) = 0;
  virtual absl::StatusOr<RunProgram> GetProgram(RunId run) = 0;
  virtual absl::StatusOr<RunRecord> GetRunRecord(RunId run) = 0;
  // The runs that ended at `since` or later and still have a rank whose stream has not ended in the
  // log.
  virtual absl::StatusOr<std::vector<RunId>> RunsAwaitingOutput(absl::Time since) = 0;
  virtual absl::StatusOr<RunId> FindRequest(const std::string& request_id) = 0;
  // The names of the metrics that the run has recorded.
  virtual absl::StatusOr<std::vector<std::string>> MetricKeys(RunId run) = 0;
  // The offsets of all attempts of a run.
  virtual absl::StatusOr<std::vector<MetricOffset>> MetricOffsets(RunId run) = 0;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_STORE_STORE_H_
