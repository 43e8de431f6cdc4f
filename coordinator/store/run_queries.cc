#include <algorithm>
#include <limits>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "common/status_macros.h"
#include "coordinator/store/names.h"
#include "coordinator/store/rows.h"
#include "coordinator/store/sqlite_queries.h"

namespace hpc::coordinator {
namespace {

constexpr char kLiveStates[] = "('queued', 'starting', 'running', 'stopping')";

bool IsLive(RunState state) {
  return state == RunState::kQueued || state == RunState::kStarting ||
         state == RunState::kRunning || state == RunState::kStopping;
}

// Runs `sql` with `ids` bound and reads every row with `read`.
template <typename Record>
absl::Status Collect(Connection* db, const std::string& sql, std::vector<int64_t> ids,
                     Record (*read)(Row&), std::vector<Record>* out) {
  Statement& statement = db->Sql(sql);
  for (const int64_t id : ids) statement.Int(id);
  return statement.Query([&](Row& row) { out->push_back(read(row)); });
}

// The greatest id. It is an error if it is so large that no further ids can be given out.
absl::StatusOr<int64_t> MaxId(Connection* db, const char* table) {
  int64_t id = 0;
  HPC_RETURN_IF_ERROR(db->Sql(absl::StrCat("SELECT max(id) FROM ", table)).Query([&](Row& row) {
    id = row.Int();
    if (id > std::numeric_limits<int64_t>::max() / 2) {
      row.Reject(absl::StrCat("has ", id, ", more than any number that was given out"));
    }
  }));
  return id;
}

// Loads the newest restore; earlier ones no longer matter. Also moves the last numbers past those
// that may have been given out before the restore.
absl::Status LoadRestored(Connection* db, Snapshot* snapshot) {
  return db
      ->Sql(
          "SELECT at, known_run, taken_attempt, hold_over, taken_run, taken_event FROM restores "
          "ORDER BY at DESC LIMIT 1")
      .Query([&](Row& row) {
        snapshot->restored.at = row.Time(absl::InfinitePast());
        snapshot->restored.known_run = row.Int();
        snapshot->restored.taken_attempt = row.Int32();
        snapshot->restored.hold_over = row.Bool();
        snapshot->last_run = std::max(snapshot->last_run, row.Int());
        snapshot->last_event = std::max(snapshot->last_event, row.Int());
      });
}

// All records of a table that belong to the live attempts of live runs.
template <typename Record>
absl::Status CollectLive(Connection* db, const Table& table, const char* join, Record (*read)(Row&),
                         std::vector<Record>* out) {
  return Collect(db,
                 absl::StrCat("SELECT ", Columns(table, "t."), " FROM runs AS r ", join,
                              " WHERE r.state IN ", kLiveStates, " AND a.state <> 'ended'"),
                 {}, read, out);
}

absl::Status NoSuchRun(RunId run) {
  return absl::NotFoundError(absl::StrCat("there is no run ", run));
}

// Says whether a query for `states` should use the index of states. That pays only if the index
// gives the runs in the order of ids, or gives few rows. For other states it is faster to read runs
// from the newest on until a page is full than to sort them all.
bool UseStateIndex(const std::vector<RunState>& states) {
  return states.size() == 1 || std::all_of(states.begin(), states.end(), IsLive);
}

std::string RunsSql(const RunFilter& filter) {
  std::string sql =
      absl::StrCat("SELECT ", Columns(kListedRuns, "r."), " FROM runs AS r WHERE TRUE");
  if (!filter.states.empty()) {
    const std::vector<std::string> marks(filter.states.size(), "?");
    absl::StrAppend(&sql, UseStateIndex(filter.states) ? " AND r.state" : " AND +r.state", " IN (",
                    absl::StrJoin(marks, ", "), ")");
  }
  if (filter.experiment.has_value()) absl::StrAppend(&sql, " AND r.experiment = ?");
  if (filter.user.has_value()) absl::StrAppend(&sql, " AND r.user = ?");
  if (filter.name.has_value()) absl::StrAppend(&sql, " AND r.name = ?");
  if (filter.tag.has_value()) {
    absl::StrAppend(&sql, " AND r.id IN (SELECT run FROM run_tags WHERE tag = ?)");
  }
  if (filter.before > 0) absl::StrAppend(&sql, " AND r.id < ?");
  if (filter.above > 0) absl::StrAppend(&sql, " AND r.id > ?");
  absl::StrAppend(&sql, " ORDER BY r.id DESC");
  if (filter.limit > 0) absl::StrAppend(&sql, " LIMIT ?");
  return sql;
}

// Runs whose numbers are so close together that they are read in one go, with whatever lies
// between.
using Stretch = absl::Span<RunExtras>;

Stretch FirstStretch(absl::Span<RunExtras> runs) {
  constexpr RunId kFar = 8;
  size_t n = 1;
  while (n < runs.size() && runs[n - 1].run - runs[n].run < kFar) ++n;
  return runs.subspan(0, n);
}

// Calls `read` with every row of `table` that belongs to one of the runs, run by run.
absl::Status ForEachOf(Connection* db, const char* columns, const char* table, const char* order,
                       Stretch runs, absl::FunctionRef<void(Row&, RunExtras*)> read) {
  auto at = runs.rbegin();
  return db
      ->Sql(absl::StrCat("SELECT run, ", columns, " FROM ", table,
                         " WHERE run BETWEEN ? AND ? ORDER BY run", order))
      .Int(runs.back().run)
      .Int(runs.front().run)
      .Query([&](Row& row) {
        const RunId run = row.Int();
        while (at->run < run) ++at;
        if (at->run == run) read(row, &*at);
      });
}

absl::Status CollectParts(Connection* db, RunParts parts, Stretch runs) {
  if (parts.command) {
    HPC_RETURN_IF_ERROR(ForEachOf(db, "command", "programs", "", runs,
                                  [](Row& row, RunExtras* run) { run->command = ReadTexts(row); }));
  }
  if (parts.nodes) {
    HPC_RETURN_IF_ERROR(ForEachOf(db, "attempt, node", "placements", ", attempt, node_rank", runs,
                                  [](Row& row, RunExtras* run) {
                                    if (row.Int() == run->attempts)
                                      run->nodes.push_back(row.Text());
                                  }));
  }
  if (!parts.results) return absl::OkStatus();
  HPC_RETURN_IF_ERROR(
      ForEachOf(db, "key, value", "run_params", ", position", runs, [](Row& row, RunExtras* run) {
        std::string key = row.Text();
        run->params.emplace_back(std::move(key), row.Text());
      }));
  return ForEachOf(
      db, "key, points, last_step, last, min, max", "metric_keys", ", key", runs,
      [](Row& row, RunExtras* run) { run->metrics.push_back(ReadMetricSummary(row)); });
}

}  // namespace

absl::StatusOr<Snapshot> LoadSnapshot(Connection* db) {
  Snapshot snapshot;
  HPC_ASSIGN_OR_RETURN(snapshot.last_run, MaxId(db, "runs"));
  HPC_ASSIGN_OR_RETURN(snapshot.last_event, MaxId(db, "events"));
  HPC_RETURN_IF_ERROR(LoadRestored(db, &snapshot));
  HPC_RETURN_IF_ERROR(
      Collect(db, SelectSql(kRuns, absl::StrCat("WHERE state IN ", kLiveStates, " ORDER BY id")),
              {}, ReadRun, &snapshot.runs));
  HPC_RETURN_IF_ERROR(CollectLive(db, kAttempts,
                                  "JOIN attempts AS t ON t.run = r.id "
                                  "JOIN attempts AS a ON a.run = t.run AND a.number = t.number",
                                  ReadAttempt, &snapshot.attempts));
  HPC_RETURN_IF_ERROR(
      Collect(db,
              absl::StrCat("SELECT ", Columns(kPlacements, "t."),
                           " FROM runs AS r JOIN placements AS t ON t.run = r.id AND t.attempt = "
                           "r.attempts WHERE r.state IN ",
                           kLiveStates),
              {}, ReadPlacement, &snapshot.placements));
  HPC_RETURN_IF_ERROR(CollectLive(db, kRanks,
                                  "JOIN attempts AS a ON a.run = r.id JOIN ranks AS t ON t.run = "
                                  "a.run AND t.attempt = a.number",
                                  ReadRank, &snapshot.ranks));
  HPC_RETURN_IF_ERROR(Collect(db, SelectSql(kNodes, "WHERE forgotten = 0 ORDER BY name"), {},
                              ReadNode, &snapshot.nodes));
  return snapshot;
}

absl::StatusOr<std::optional<ClockReading>> QueryClock(Connection* db) {
  ClockReading clock;
  HPC_ASSIGN_OR_RETURN(const bool found,
                       db->Sql("SELECT boot_id, zero FROM clock").QueryOne([&](Row& row) {
                         clock.boot_id = row.Text();
                         clock.zero = row.Time(absl::UnixEpoch());
                       }));
  return found ? std::make_optional(clock) : std::nullopt;
}

absl::StatusOr<RunRecord> QueryRunRecord(Connection* db, RunId run) {
  RunRecord record;
  HPC_ASSIGN_OR_RETURN(const bool found,
                       db->Sql(SelectSql(kRuns, "WHERE id = ?")).Int(run).QueryOne([&](Row& row) {
                         record = ReadRun(row);
                       }));
  if (!found) return NoSuchRun(run);
  return record;
}

absl::StatusOr<RunProgram> QueryProgram(Connection* db, RunId run) {
  RunProgram program;
  HPC_ASSIGN_OR_RETURN(
      const bool found,
      db->Sql(SelectSql(kPrograms, "WHERE run = ?")).Int(run).QueryOne([&](Row& row) {
        program = ReadProgram(row);
      }));
  if (!found) return NoSuchRun(run);
  HPC_RETURN_IF_ERROR(db->Sql("SELECT key, value FROM run_params WHERE run = ? ORDER BY position")
                          .Int(run)
                          .Query([&](Row& row) {
                            std::string key = row.Text();
                            program.params.emplace_back(std::move(key), row.Text());
                          }));
  HPC_RETURN_IF_ERROR(db->Sql("SELECT tag FROM run_tags WHERE run = ? ORDER BY position")
                          .Int(run)
                          .Query([&](Row& row) { program.tags.push_back(row.Text()); }));
  return program;
}

absl::StatusOr<RunDetail> QueryRun(Connection* db, RunId run) {
  RunDetail detail;
  HPC_ASSIGN_OR_RETURN(detail.record, QueryRunRecord(db, run));
  HPC_ASSIGN_OR_RETURN(detail.program, QueryProgram(db, run));
  HPC_RETURN_IF_ERROR(Collect(db, SelectSql(kAttempts, "WHERE run = ? ORDER BY number"), {run},
                              ReadAttempt, &detail.attempts));
  HPC_RETURN_IF_ERROR(Collect(db,
                              SelectSql(kPlacements, "WHERE run = ? ORDER BY attempt, node_rank"),
                              {run}, ReadPlacement, &detail.placements));
  HPC_RETURN_IF_ERROR(Collect(db, SelectSql(kRanks, "WHERE run = ? ORDER BY attempt, rank"), {run},
                              ReadRank, &detail.ranks));
  HPC_RETURN_IF_ERROR(Collect(db, SelectSql(kEnvironments, "WHERE run = ? ORDER BY attempt, node"),
                              {run}, ReadEnvironment, &detail.environments));
  HPC_RETURN_IF_ERROR(
      Collect(db, SelectSql(kLogStreams, "WHERE run = ? ORDER BY attempt, rank, stream DESC"),
              {run}, ReadLogStream, &detail.log_streams));
  return detail;
}

absl::StatusOr<RunId> QueryRequest(Connection* db, const std::string& request_id) {
  RunId run = 0;
  HPC_ASSIGN_OR_RETURN(const bool found, db->Sql("SELECT run FROM programs WHERE request_id = ?")
                                             .Text(request_id)
                                             .QueryOne([&](Row& row) { run = row.Int(); }));
  if (!found) return absl::NotFoundError("no run was submitted by this request");
  return run;
}

absl::StatusOr<std::vector<RunId>> QueryRunsAwaitingOutput(Connection* db, absl::Time since) {
  std::vector<RunId> runs;
  HPC_RETURN_IF_ERROR(
      db->Sql(absl::StrCat(
                  "SELECT id FROM runs WHERE ended_at >= ? AND state NOT IN ", kLiveStates,
                  " AND EXISTS (SELECT 1 FROM ranks AS r WHERE r.run = id AND r.started_at IS NOT "
                  "NULL AND 2 > (SELECT count(*) FROM log_streams AS s WHERE s.run = r.run AND "
                  "s.attempt = r.attempt AND s.rank = r.rank)) ORDER BY id"))
          .Time(since)
          .Query([&](Row& row) { runs.push_back(row.Int()); }));
  return runs;
}

absl::StatusOr<std::vector<RunRow>> QueryRuns(Connection* db, const RunFilter& filter) {
  Statement& statement = db->Sql(RunsSql(filter));
  for (const RunState state : filter.states) statement.Text(ToWord(state));
  for (const auto* text : {&filter.experiment, &filter.user, &filter.name}) {
    if (text->has_value()) statement.Text(**text);
  }
  if (filter.tag.has_value()) statement.Text(*filter.tag);
  if (filter.before > 0) statement.Int(filter.before);
  if (filter.above > 0) statement.Int(filter.above);
  if (filter.limit > 0) statement.Int(filter.limit);
  std::vector<RunRow> rows;
  std::vector<RunExtras> extras;
  HPC_RETURN_IF_ERROR(statement.Query([&](Row& row) {
    const RunRecord& run = (rows.emplace_back().record = ReadListedRun(row));
    extras.push_back({.run = run.id, .attempts = run.attempts});
  }));
  HPC_RETURN_IF_ERROR(QueryExtras(db, filter.parts, &extras));
  for (size_t i = 0; i < rows.size(); ++i) rows[i].extras = std::move(extras[i]);
  return rows;
}

absl::Status QueryExtras(Connection* db, RunParts parts, std::vector<RunExtras>* runs) {
  absl::Span<RunExtras> left = absl::MakeSpan(*runs);
  while (!left.empty()) {
    const Stretch stretch = FirstStretch(left);
    HPC_RETURN_IF_ERROR(CollectParts(db, parts, stretch));
    left.remove_prefix(stretch.size());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ExperimentRow>> QueryExperiments(Connection* db) {
  std::vector<ExperimentRow> rows;
  HPC_RETURN_IF_ERROR(
      db->Sql("SELECT e.name, g.runs, e.created_at, r.submitted_at FROM "
              "(SELECT experiment, count(*) AS runs, max(id) AS newest FROM runs "
              " GROUP BY experiment) AS g "
              "JOIN experiments AS e ON e.name = g.experiment JOIN runs AS r ON r.id = g.newest "
              "ORDER BY g.newest DESC")
          .Query([&](Row& row) {
            ExperimentRow& out = rows.emplace_back();
            out.name = row.Text();
            out.runs = row.Int();
            out.created_at = row.Time(absl::UnixEpoch());
            out.last_run_at = row.Time(absl::UnixEpoch());
          }));
  return rows;
}

}  // namespace hpc::coordinator
