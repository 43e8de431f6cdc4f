// Turns a WriteBatch into statements.
#ifndef HPC_COORDINATOR_STORE_SQLITE_WRITER_H_
#define HPC_COORDINATOR_STORE_SQLITE_WRITER_H_

#include <string>

#include "absl/status/status.h"
#include "coordinator/store/rows.h"
#include "coordinator/store/sqlite.h"
#include "coordinator/store/store.h"

namespace hpc::coordinator {

class SqliteWriter {
 public:
  explicit SqliteWriter(Connection* db) : db_(db) {}

  // Must be called inside a transaction.
  absl::Status Write(const WriteBatch& batch);

 private:
  absl::Status WriteOne(const RunRecord& run);
  absl::Status WriteOne(const AttemptRecord& attempt) { return Put(upsert_attempt_, attempt); }
  absl::Status WriteOne(const PlacementRecord& placement) {
    return Put(upsert_placement_, placement);
  }
  absl::Status WriteOne(const RankRecord& rank) { return Put(upsert_rank_, rank); }
  absl::Status WriteOne(const NodeRecord& node) { return Put(upsert_node_, node); }
  absl::Status WriteOne(const HoldOver& over) {
    return db_->Sql("UPDATE restores SET hold_over = 1 WHERE at = ?").Time(over.restored_at).Run();
  }
  absl::Status WriteOne(const EventRecord& event) { return Put(insert_event_, event); }
  absl::Status WriteOne(const TokenRecord& token) { return Put(upsert_token_, token); }
  absl::Status WriteOne(const CertificateRecord& certificate) {
    return Put(upsert_certificate_, certificate);
  }
  absl::Status WriteProgram(RunId run, const RunProgram& program);

  template <typename Record>
  absl::Status Put(const std::string& sql, const Record& record) {
    Statement& statement = db_->Sql(sql);
    Bind(record, statement);
    return statement.Run();
  }

  Connection* db_;
  const std::string upsert_run_ = UpsertSql(kRuns);
  const std::string insert_program_ = InsertSql(kPrograms);
  const std::string upsert_attempt_ = UpsertSql(kAttempts);
  const std::string upsert_placement_ = UpsertSql(kPlacements);
  const std::string upsert_rank_ = UpsertSql(kRanks);
  const std::string upsert_node_ = UpsertSql(kNodes);
  const std::string insert_event_ = InsertSql(kEvents);
  const std::string upsert_environment_ = UpsertSql(kEnvironments);
  const std::string upsert_metric_offset_ = UpsertSql(kMetricOffsets);
  const std::string upsert_log_segment_ = UpsertSql(kLogSegments);
  const std::string upsert_log_stream_ = UpsertSql(kLogStreams);
  const std::string upsert_token_ = UpsertSql(kTokens);
  const std::string upsert_certificate_ = UpsertSql(kCertificates);
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_STORE_SQLITE_WRITER_H_
