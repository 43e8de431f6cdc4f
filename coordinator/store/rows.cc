#include "coordinator/store/rows.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "coordinator/store/row_columns.h"

namespace hpc::coordinator {
namespace {

std::vector<std::string> Split(const char* columns) { return absl::StrSplit(columns, ", "); }

std::vector<std::string> AllColumns(const Table& table) {
  return Split(absl::StrCat(table.key, ", ", table.columns).c_str());
}

}  // namespace

std::string Columns(const Table& table, absl::string_view prefix) {
  return absl::StrJoin(AllColumns(table), ", ", [&](std::string* out, const std::string& column) {
    absl::StrAppend(out, prefix, column);
  });
}

std::string InsertSql(const Table& table) {
  const std::vector<std::string> marks(AllColumns(table).size(), "?");
  return absl::StrCat("INSERT INTO ", table.name, " (", Columns(table), ") VALUES (",
                      absl::StrJoin(marks, ", "), ")");
}

std::string UpsertSql(const Table& table) {
  const auto assign = [](std::string* out, const std::string& column) {
    absl::StrAppend(out, column, " = excluded.", column);
  };
  return absl::StrCat(InsertSql(table), " ON CONFLICT (", table.key, ") DO UPDATE SET ",
                      absl::StrJoin(Split(table.columns), ", ", assign));
}

std::string SelectSql(const Table& table, absl::string_view clauses) {
  return absl::StrCat("SELECT ", Columns(table), " FROM ", table.name, " ", clauses);
}

std::vector<std::string> ReadTexts(Row& row) { return ReadJson(row, TextsFromJson); }

constexpr Table kEvents = {"events", "id", "at, severity, kind, run, attempt, node, rank, text"};

void Bind(const EventRecord& event, Statement& to) {
  to.Int(event.id)
      .Time(event.at)
      .Text(ToWord(event.severity))
      .Text(event.kind)
      .IntOrNull(event.run, 0)
      .IntOrNull(event.attempt, 0)
      .TextOrNull(event.node)
      .IntOrNull(event.rank, -1)
      .Text(event.text);
}

EventRecord ReadEvent(Row& row) {
  EventRecord event;
  event.id = row.Int();
  event.at = row.Time(absl::UnixEpoch());
  event.severity = ReadWord<Severity>(row);
  event.kind = row.Text();
  event.run = row.Int();
  event.attempt = row.Int32();
  event.node = row.Text();
  event.rank = row.Int32(-1);
  event.text = row.Text();
  return event;
}

constexpr Table kEnvironments = {"environments", "run, attempt, node", "facts, added"};

void Bind(const EnvironmentRecord& environment, Statement& to) {
  to.Int(environment.ref.run)
      .Int(environment.ref.number)
      .Text(environment.node)
      .Text(ToJson(environment.facts))
      .Text(ToJson(environment.added));
}

EnvironmentRecord ReadEnvironment(Row& row) {
  EnvironmentRecord environment;
  environment.ref.run = row.Int();
  environment.ref.number = row.Int32();
  environment.node = row.Text();
  environment.facts = ReadJson(row, PairsFromJson);
  environment.added = ReadJson(row, PairsFromJson);
  return environment;
}

constexpr Table kMetricOffsets = {"metric_offsets", "run, attempt, rank", "offset"};

void Bind(const MetricOffset& offset, Statement& to) {
  to.Int(offset.ref.run).Int(offset.ref.number).Int(offset.rank).Int(offset.offset);
}

MetricOffset ReadMetricOffset(Row& row) {
  MetricOffset offset;
  offset.ref.run = row.Int();
  offset.ref.number = row.Int32();
  offset.rank = row.Int32();
  offset.offset = row.Int();
  return offset;
}

constexpr Table kLogSegments = {"log_segments", "run, first_position",
                                "bytes, stored_bytes, sealed"};

void Bind(const LogSegmentRecord& segment, Statement& to) {
  to.Int(segment.run)
      .Int(segment.first_position)
      .Int(segment.bytes)
      .Int(segment.stored_bytes)
      .Int(segment.sealed);
}

LogSegmentRecord ReadLogSegment(Row& row) {
  LogSegmentRecord segment;
  segment.run = row.Int();
  segment.first_position = row.Int();
  segment.bytes = row.Int();
  segment.stored_bytes = row.Int();
  segment.sealed = row.Bool();
  return segment;
}

constexpr Table kLogStreams = {"log_streams", "run, attempt, rank, stream", "bytes, cut_bytes"};

void Bind(const LogStreamRecord& stream, Statement& to) {
  to.Int(stream.ref.run)
      .Int(stream.ref.number)
      .Int(stream.rank)
      .Text(stream.is_stderr ? "stderr" : "stdout")
      .Int(stream.bytes)
      .Int(stream.cut_bytes);
}

LogStreamRecord ReadLogStream(Row& row) {
  LogStreamRecord stream;
  stream.ref.run = row.Int();
  stream.ref.number = row.Int32();
  stream.rank = row.Int32();
  stream.is_stderr = row.Text() == "stderr";
  stream.bytes = row.Int();
  stream.cut_bytes = row.Int();
  return stream;
}

}  // namespace hpc::coordinator
