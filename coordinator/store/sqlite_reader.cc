#include "coordinator/store/sqlite_reader.h"

#include <utility>
#include <vector>

#include "common/status_macros.h"
#include "coordinator/store/sqlite.h"
#include "coordinator/store/sqlite_queries.h"

namespace hpc::coordinator {
namespace {

// Few pages are read twice, so a small cache suffices for each of the connections.
constexpr char kReaderSettings[] =
    "PRAGMA cache_size = -512;"
    "PRAGMA cell_size_check = ON;"
    "PRAGMA trusted_schema = OFF;";

class SqliteReader final : public StoreReader {
 public:
  explicit SqliteReader(std::unique_ptr<Connection> db) : db_(std::move(db)) {}

  absl::Status InSnapshot(absl::FunctionRef<absl::Status()> body) override {
    return db_->InSnapshot(body);
  }

  absl::StatusOr<RunDetail> GetRun(RunId run) override { return QueryRun(db_.get(), run); }
  absl::StatusOr<std::vector<RunRow>> ListRuns(const RunFilter& filter) override {
    return QueryRuns(db_.get(), filter);
  }
  absl::Status DescribeRuns(RunParts parts, std::vector<RunExtras>* runs) override {
    return QueryExtras(db_.get(), parts, runs);
  }
  absl::StatusOr<std::vector<ExperimentRow>> ListExperiments() override {
    return QueryExperiments(db_.get());
  }
  absl::StatusOr<std::vector<EventRecord>> ListEvents(const EventFilter& filter) override {
    return QueryEvents(db_.get(), filter);
  }
  absl::StatusOr<std::vector<MetricSummary>> SummarizeMetrics(RunId run) override {
    return QueryMetricSummaries(db_.get(), run);
  }
  absl::StatusOr<std::vector<MetricRow>> ListMetrics(const MetricFilter& filter) override {
    return QueryMetrics(db_.get(), filter);
  }
  absl::StatusOr<std::vector<LogSegmentRecord>> LogSegments(RunId run) override {
    return QueryLogSegments(db_.get(), run);
  }

 private:
  const std::unique_ptr<Connection> db_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<StoreReader>> OpenSqliteReader(const std::string& path,
                                                              absl::Duration busy_timeout) {
  HPC_ASSIGN_OR_RETURN(std::unique_ptr<Connection> db, Connection::OpenBeside(path, busy_timeout));
  HPC_RETURN_IF_ERROR(db->Execute(kReaderSettings));
  return std::make_unique<SqliteReader>(std::move(db));
}

}  // namespace hpc::coordinator
