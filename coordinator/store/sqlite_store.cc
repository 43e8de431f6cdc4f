#include "coordinator/store/sqlite_store.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/store/migrations.h"
#include "coordinator/store/sqlite.h"
#include "coordinator/store/sqlite_queries.h"
#include "coordinator/store/sqlite_reader.h"
#include "coordinator/store/sqlite_writer.h"

namespace hpc::coordinator {
namespace {

// The size of the write-ahead log when it is copied into the database: 4,000 pages, each behind a
// header of its own. Rewriting a grown log is cheaper than growing a new one.
constexpr int64_t kLogBytes = 32 + 4000 * (4096 + 24);

constexpr char kSettings[] =
    "PRAGMA synchronous = FULL;"
    "PRAGMA foreign_keys = ON;"
    "PRAGMA wal_autocheckpoint = 4000;"
    "PRAGMA cell_size_check = ON;"
    "PRAGMA trusted_schema = OFF;";

// The tables that every start depends on, as far as they exist. Events, metrics and programs are
// the bulk of a database; damage in them is reported when they are read.
constexpr char kTablesToCheck[] =
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND "
    "name IN ('nodes', 'runs', 'attempts', 'placements', 'ranks')";

absl::Status CheckIntegrity(Connection* db) {
  std::vector<std::string> tables;
  HPC_RETURN_IF_ERROR(
      db->Sql(kTablesToCheck).Query([&](Row& row) { tables.push_back(row.Text()); }));
  for (const std::string& table : tables) {
    std::string finding;
    HPC_RETURN_IF_ERROR(
        db->Sql(absl::StrCat("PRAGMA quick_check(", table, ")")).Query([&](Row& row) {
          if (finding.empty()) finding = row.Text();
        }));
    if (finding != "ok") {
      return absl::DataLossError(absl::StrCat(db->path(), ": damaged (table ", table, ": ", finding,
                                              "): ", kDamagedAdvice));
    }
  }
  return absl::OkStatus();
}

absl::Status UseWriteAheadLog(Connection* db) {
  std::string mode;
  HPC_RETURN_IF_ERROR(
      db->Sql("PRAGMA journal_mode = WAL").Query([&](Row& row) { mode = row.Text(); }));
  if (mode == "wal") return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(db->path(),
                   ": its file system cannot share memory between processes (NFS?): "
                   "put the state directory on a local disk"));
}

class SqliteStore : public Store {
 public:
  SqliteStore(std::unique_ptr<Connection> db, absl::Duration busy_timeout)
      : db_(std::move(db)), busy_timeout_(busy_timeout), writer_(db_.get()) {}

  absl::StatusOr<Snapshot> Load() override { return LoadSnapshot(db_.get()); }
  absl::StatusOr<std::optional<ClockReading>> LoadClock() override { return QueryClock(db_.get()); }

  absl::StatusOr<TrustSnapshot> LoadTrust() override { return QueryTrust(db_.get()); }

  absl::Status Commit(const WriteBatch& batch) override {
    HPC_RETURN_IF_ERROR(db_->CheckInPlace());
    return db_->InTransaction([&] { return writer_.Write(batch); });
  }

  absl::StatusOr<std::unique_ptr<StoreReader>> OpenReader() override {
    return OpenSqliteReader(db_->path(), busy_timeout_);
  }

  absl::StatusOr<RunDetail> GetRun(RunId run) override { return QueryRun(db_.get(), run); }
  absl::StatusOr<RunProgram> GetProgram(RunId run) override { return QueryProgram(db_.get(), run); }
  absl::StatusOr<RunRecord> GetRunRecord(RunId run) override {
    return QueryRunRecord(db_.get(), run);
  }
  absl::StatusOr<std::vector<RunId>> RunsAwaitingOutput(absl::Time since) override {
    return QueryRunsAwaitingOutput(db_.get(), since);
  }
  absl::StatusOr<RunId> FindRequest(const std::string& request_id) override {
    return QueryRequest(db_.get(), request_id);
  }
  absl::StatusOr<std::vector<std::string>> MetricKeys(RunId run) override {
    return QueryMetricKeys(db_.get(), run);
  }
  absl::StatusOr<std::vector<MetricOffset>> MetricOffsets(RunId run) override {
    return QueryMetricOffsets(db_.get(), run);
  }

 private:
  const std::unique_ptr<Connection> db_;
  const absl::Duration busy_timeout_;
  SqliteWriter writer_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> OpenSqliteStore(const std::string& path,
                                                       const SqliteStoreOptions& options) {
  HPC_ASSIGN_OR_RETURN(std::unique_ptr<Connection> db,
                       Connection::Open(path, options.busy_timeout));
  // Everything that may refuse the file comes first, since none of it changes the file.
  HPC_RETURN_IF_ERROR(CheckVersion(db.get(), SchemaMigrations()));
  HPC_RETURN_IF_ERROR(CheckIntegrity(db.get()));
  HPC_RETURN_IF_ERROR(UseWriteAheadLog(db.get()));
  HPC_RETURN_IF_ERROR(db->Execute(kSettings));
  HPC_RETURN_IF_ERROR(Migrate(db.get(), SchemaMigrations()));
  // This only makes commits faster, so an error does not matter.
  if (options.lengthen_log) db->LengthenLog(kLogBytes).IgnoreError();
  return std::make_unique<SqliteStore>(std::move(db), options.busy_timeout);
}

}  // namespace hpc::coordinator
