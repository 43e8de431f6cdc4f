#include "coordinator/store/sqlite_writer.h"

#include <variant>

#include "common/status_macros.h"
#include "coordinator/store/metric_writer.h"

namespace hpc::coordinator {

absl::Status SqliteWriter::Write(const WriteBatch& batch) {
  for (const Change& change : batch.changes) {
    HPC_RETURN_IF_ERROR(
        std::visit([this](const auto& record) { return WriteOne(record); }, change));
  }
  for (const auto& [run, program] : batch.programs) {
    HPC_RETURN_IF_ERROR(WriteProgram(run, program));
  }
  for (const EnvironmentRecord& environment : batch.environments) {
    HPC_RETURN_IF_ERROR(Put(upsert_environment_, environment));
  }
  if (!batch.metrics.empty()) HPC_RETURN_IF_ERROR(MetricWriter(db_).Write(batch.metrics));
  for (const MetricOffset& offset : batch.metric_offsets) {
    HPC_RETURN_IF_ERROR(Put(upsert_metric_offset_, offset));
  }
  for (const LogSegmentRecord& segment : batch.log_segments) {
    HPC_RETURN_IF_ERROR(Put(upsert_log_segment_, segment));
  }
  for (const LogStreamRecord& stream : batch.log_streams) {
    HPC_RETURN_IF_ERROR(Put(upsert_log_stream_, stream));
  }
  for (const TrustRecord& record : batch.trust) {
    HPC_RETURN_IF_ERROR(std::visit([this](const auto& one) { return WriteOne(one); }, record));
  }
  if (!batch.clock) return absl::OkStatus();
  return db_->Sql("INSERT OR REPLACE INTO clock VALUES (1, ?, ?)")
      .Text(batch.clock->boot_id)
      .Time(batch.clock->zero)
      .Run();
}

absl::Status SqliteWriter::WriteOne(const RunRecord& run) {
  HPC_RETURN_IF_ERROR(Put(upsert_run_, run));
  // An experiment begins with its first run.
  return db_->Sql("INSERT OR IGNORE INTO experiments (name, created_at) VALUES (?, ?)")
      .Text(ExperimentOf(run))
      .Time(run.submitted_at)
      .Run();
}

absl::Status SqliteWriter::WriteProgram(RunId run, const RunProgram& program) {
  Statement& insert = db_->Sql(insert_program_);
  Bind(run, program, insert);
  HPC_RETURN_IF_ERROR(insert.Run());
  int64_t position = 0;
  for (const auto& [key, value] : program.params) {
    HPC_RETURN_IF_ERROR(
        db_->Sql("INSERT INTO run_params (run, position, key, value) VALUES (?, ?, ?, ?)")
            .Int(run)
            .Int(position++)
            .Text(key)
            .Text(value)
            .Run());
  }
  position = 0;
  for (const std::string& tag : program.tags) {
    HPC_RETURN_IF_ERROR(db_->Sql("INSERT INTO run_tags (run, position, tag) VALUES (?, ?, ?)")
                            .Int(run)
                            .Int(position++)
                            .Text(tag)
                            .Run());
  }
  return absl::OkStatus();
}

}  // namespace hpc::coordinator
