#include "coordinator/store/metric_writer.h"

#include <cmath>

#include "common/status_macros.h"
#include "coordinator/store/sqlite_queries.h"

namespace hpc::coordinator {
namespace {

void Add(const MetricPoint& point, MetricSummary* summary) {
  ++summary->points;
  summary->last_step = point.step;
  summary->last = point.value;
  // fmin and fmax ignore a NaN.
  summary->min = std::fmin(summary->min, point.value);
  summary->max = std::fmax(summary->max, point.value);
}

}  // namespace

absl::Status MetricWriter::Write(const std::vector<MetricPoint>& points) {
  Statement& insert = db_->Sql(
      "INSERT INTO metrics (run, row, key, attempt, rank, step, value, at) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
  for (const MetricPoint& point : points) {
    HPC_ASSIGN_OR_RETURN(Key* const key, FindKey(point.ref.run, point.key));
    HPC_ASSIGN_OR_RETURN(int64_t* const row, LastRow(point.ref.run));
    HPC_RETURN_IF_ERROR(insert.Int(point.ref.run)
                            .Int(++*row)
                            .Int(key->id)
                            .Int(point.ref.number)
                            .Int(point.rank)
                            .Int(point.step)
                            .Real(point.value)
                            .Time(point.at)
                            .Run());
    Add(point, &key->summary);
  }
  for (const auto& [name, key] : keys_) HPC_RETURN_IF_ERROR(WriteSummary(key));
  return absl::OkStatus();
}

absl::StatusOr<MetricWriter::Key*> MetricWriter::FindKey(RunId run, const std::string& key) {
  const auto [it, is_new] = keys_.try_emplace({run, key});
  Key& entry = it->second;
  if (!is_new) return &entry;
  const auto read = [&](Row& row) {
    entry.id = row.Int();
    entry.summary = ReadMetricSummary(row);
  };
  HPC_ASSIGN_OR_RETURN(const bool known,
                       db_->Sql("SELECT id, key, points, last_step, last, min, max "
                                "FROM metric_keys WHERE run = ? AND key = ?")
                           .Int(run)
                           .Text(key)
                           .QueryOne(read));
  if (known) return &entry;
  HPC_RETURN_IF_ERROR(db_->Sql("INSERT INTO metric_keys (run, key, points, last_step) "
                               "VALUES (?, ?, 0, 0) "
                               "RETURNING id, key, points, last_step, last, min, max")
                          .Int(run)
                          .Text(key)
                          .Query(read));
  return &entry;
}

absl::StatusOr<int64_t*> MetricWriter::LastRow(RunId run) {
  const auto [it, is_new] = last_rows_.try_emplace(run, 0);
  int64_t& last = it->second;
  if (is_new) {
    HPC_RETURN_IF_ERROR(
        db_->Sql("SELECT max(row) FROM metrics WHERE run = ?").Int(run).Query([&](Row& row) {
          last = row.Int();
        }));
  }
  return &last;
}

absl::Status MetricWriter::WriteSummary(const Key& key) {
  return db_
      ->Sql(
          "UPDATE metric_keys SET points = ?, last_step = ?, last = ?, min = ?, max = ? "
          "WHERE id = ?")
      .Int(key.summary.points)
      .Int(key.summary.last_step)
      .Real(key.summary.last)
      .Real(key.summary.min)
      .Real(key.summary.max)
      .Int(key.id)
      .Run();
}

}  // namespace hpc::coordinator
