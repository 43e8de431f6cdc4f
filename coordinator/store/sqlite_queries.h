// The reading half of the SQLite store, as functions of a connection. store.h has their contracts.
#ifndef HPC_COORDINATOR_STORE_SQLITE_QUERIES_H_
#define HPC_COORDINATOR_STORE_SQLITE_QUERIES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/store/sqlite.h"
#include "coordinator/store/store.h"
#include "coordinator/store/store_reader.h"

namespace hpc::coordinator {

// run_queries.cc
absl::StatusOr<Snapshot> LoadSnapshot(Connection* db);
absl::StatusOr<std::optional<ClockReading>> QueryClock(Connection* db);
absl::StatusOr<RunDetail> QueryRun(Connection* db, RunId run);
absl::StatusOr<RunProgram> QueryProgram(Connection* db, RunId run);
absl::StatusOr<RunRecord> QueryRunRecord(Connection* db, RunId run);
absl::StatusOr<RunId> QueryRequest(Connection* db, const std::string& request_id);
absl::StatusOr<std::vector<RunId>> QueryRunsAwaitingOutput(Connection* db, absl::Time since);
absl::StatusOr<std::vector<RunRow>> QueryRuns(Connection* db, const RunFilter& filter);
absl::Status QueryExtras(Connection* db, RunParts parts, std::vector<RunExtras>* runs);
absl::StatusOr<std::vector<ExperimentRow>> QueryExperiments(Connection* db);

// trust_queries.cc
absl::StatusOr<TrustSnapshot> QueryTrust(Connection* db);

// series_queries.cc
absl::StatusOr<std::vector<EventRecord>> QueryEvents(Connection* db, const EventFilter& filter);
absl::StatusOr<std::vector<MetricSummary>> QueryMetricSummaries(Connection* db, RunId run);
absl::StatusOr<std::vector<std::string>> QueryMetricKeys(Connection* db, RunId run);
absl::StatusOr<std::vector<MetricRow>> QueryMetrics(Connection* db, const MetricFilter& filter);
absl::StatusOr<std::vector<MetricOffset>> QueryMetricOffsets(Connection* db, RunId run);
absl::StatusOr<std::vector<LogSegmentRecord>> QueryLogSegments(Connection* db, RunId run);

// Reads the columns key, points, last_step, last, min, max.
MetricSummary ReadMetricSummary(Row& row);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_STORE_SQLITE_QUERIES_H_
