// Events, metrics and the index of logs: the tables that only ever grow.
#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/store/rows.h"
#include "coordinator/store/sqlite_queries.h"

namespace hpc::coordinator {
namespace {

int64_t LimitOrAll(int64_t limit) {
  return limit > 0 ? limit : std::numeric_limits<int64_t>::max();
}

const char* SecurityClause(SecurityEvents security) {
  switch (security) {
    case SecurityEvents::kWithout:
      return " AND kind NOT GLOB 'security.*'";
    case SecurityEvents::kOnly:
      return " AND kind GLOB 'security.*'";
    case SecurityEvents::kWithAll:
      break;
  }
  return "";
}

std::string EventsSql(const EventFilter& filter) {
  return SelectSql(kEvents, absl::StrCat("WHERE id > ?", filter.run > 0 ? " AND run = ?" : "",
                                         filter.node.empty() ? "" : " AND node = ?",
                                         SecurityClause(filter.security), " ORDER BY id",
                                         filter.newest ? " DESC" : "", " LIMIT ?"));
}

}  // namespace

absl::StatusOr<std::vector<EventRecord>> QueryEvents(Connection* db, const EventFilter& filter) {
  Statement& statement = db->Sql(EventsSql(filter));
  statement.Int(filter.after);
  if (filter.run > 0) statement.Int(filter.run);
  if (!filter.node.empty()) statement.Text(filter.node);
  statement.Int(LimitOrAll(filter.limit));
  std::vector<EventRecord> events;
  HPC_RETURN_IF_ERROR(statement.Query([&](Row& row) { events.push_back(ReadEvent(row)); }));
  if (filter.newest) std::reverse(events.begin(), events.end());
  return events;
}

MetricSummary ReadMetricSummary(Row& row) {
  MetricSummary summary;
  summary.key = row.Text();
  summary.points = row.Int();
  summary.last_step = row.Int();
  summary.last = row.Real();
  summary.min = row.Real();
  summary.max = row.Real();
  return summary;
}

absl::StatusOr<std::vector<MetricSummary>> QueryMetricSummaries(Connection* db, RunId run) {
  std::vector<MetricSummary> summaries;
  HPC_RETURN_IF_ERROR(
      db->Sql("SELECT key, points, last_step, last, min, max FROM metric_keys WHERE run = ? "
              "ORDER BY key")
          .Int(run)
          .Query([&](Row& row) { summaries.push_back(ReadMetricSummary(row)); }));
  return summaries;
}

absl::StatusOr<std::vector<std::string>> QueryMetricKeys(Connection* db, RunId run) {
  std::vector<std::string> keys;
  HPC_RETURN_IF_ERROR(
      db->Sql("SELECT key FROM metric_keys WHERE run = ?").Int(run).Query([&](Row& row) {
        keys.push_back(row.Text());
      }));
  return keys;
}

absl::StatusOr<std::vector<MetricRow>> QueryMetrics(Connection* db, const MetricFilter& filter) {
  const bool one_key = !filter.key.empty();
  Statement& statement = db->Sql(absl::StrCat(
      "SELECT m.row, m.attempt, m.rank, k.key, m.step, m.value, m.at FROM ",
      // A query for one key uses that key's index, which has the requested order. Otherwise the
      // index of the table has it.
      one_key ? "metric_keys AS k CROSS JOIN metrics AS m ON m.key = k.id "
                "WHERE k.run = ? AND k.key = ?"
              : "metrics AS m CROSS JOIN metric_keys AS k ON k.id = m.key WHERE m.run = ?",
      " AND m.row > ? ORDER BY m.row LIMIT ?"));
  statement.Int(filter.run);
  if (one_key) statement.Text(filter.key);
  statement.Int(filter.after_row).Int(LimitOrAll(filter.limit));
  std::vector<MetricRow> rows;
  HPC_RETURN_IF_ERROR(statement.Query([&](Row& row) {
    MetricRow& out = rows.emplace_back();
    out.row = row.Int();
    out.point.ref.run = filter.run;
    out.point.ref.number = row.Int32();
    out.point.rank = row.Int32();
    out.point.key = row.Text();
    out.point.step = row.Int();
    out.point.value = row.Real();
    out.point.at = row.Time(absl::UnixEpoch());
  }));
  return rows;
}

absl::StatusOr<std::vector<MetricOffset>> QueryMetricOffsets(Connection* db, RunId run) {
  std::vector<MetricOffset> offsets;
  HPC_RETURN_IF_ERROR(db->Sql(SelectSql(kMetricOffsets, "WHERE run = ? ORDER BY attempt, rank"))
                          .Int(run)
                          .Query([&](Row& row) { offsets.push_back(ReadMetricOffset(row)); }));
  return offsets;
}

absl::StatusOr<std::vector<LogSegmentRecord>> QueryLogSegments(Connection* db, RunId run) {
  std::vector<LogSegmentRecord> segments;
  HPC_RETURN_IF_ERROR(db->Sql(SelectSql(kLogSegments, "WHERE run = ? ORDER BY first_position"))
                          .Int(run)
                          .Query([&](Row& row) { segments.push_back(ReadLogSegment(row)); }));
  return segments;
}

}  // namespace hpc::coordinator
