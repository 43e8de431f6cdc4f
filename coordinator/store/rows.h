// How records are laid out in the tables. Each record has a Table (its columns), Bind (its values
// in the order of those columns) and Read (the same back). A column is thus named in one place
// only.
#ifndef HPC_COORDINATOR_STORE_ROWS_H_
#define HPC_COORDINATOR_STORE_ROWS_H_

#include <string>
#include <vector>

#include "coordinator/store/sqlite.h"
#include "coordinator/store/store.h"

namespace hpc::coordinator {

struct Table {
  const char* name;
  const char* key;      // "run, rank"
  const char* columns;  // the columns behind the key, in the same form
};

// "r.a, r.b, r.c" with `prefix` "r."; the key comes first.
std::string Columns(const Table& table, absl::string_view prefix = "");
// INSERT of one row, all columns.
std::string InsertSql(const Table& table);
// The same, but where the row exists the columns behind the key are replaced.
std::string UpsertSql(const Table& table);
// SELECT of all columns, followed by `clauses` ("WHERE run = ?").
std::string SelectSql(const Table& table, absl::string_view clauses);

extern const Table kRuns;
void Bind(const RunRecord& run, Statement& to);
RunRecord ReadRun(Row& row);
// The columns that a listing shows. Reading these costs a fraction of reading whole runs.
extern const Table kListedRuns;
RunRecord ReadListedRun(Row& row);

// The parameters and tags of a program are rows of their own.
extern const Table kPrograms;
void Bind(RunId run, const RunProgram& program, Statement& to);
RunProgram ReadProgram(Row& row);

extern const Table kAttempts;
void Bind(const AttemptRecord& attempt, Statement& to);
AttemptRecord ReadAttempt(Row& row);

extern const Table kPlacements;
void Bind(const PlacementRecord& placement, Statement& to);
PlacementRecord ReadPlacement(Row& row);

extern const Table kRanks;
void Bind(const RankRecord& rank, Statement& to);
RankRecord ReadRank(Row& row);

extern const Table kNodes;
void Bind(const NodeRecord& node, Statement& to);
NodeRecord ReadNode(Row& row);

extern const Table kEvents;
void Bind(const EventRecord& event, Statement& to);
EventRecord ReadEvent(Row& row);

extern const Table kEnvironments;
void Bind(const EnvironmentRecord& environment, Statement& to);
EnvironmentRecord ReadEnvironment(Row& row);

extern const Table kMetricOffsets;
void Bind(const MetricOffset& offset, Statement& to);
MetricOffset ReadMetricOffset(Row& row);

extern const Table kLogSegments;
void Bind(const LogSegmentRecord& segment, Statement& to);
LogSegmentRecord ReadLogSegment(Row& row);

extern const Table kLogStreams;
void Bind(const LogStreamRecord& stream, Statement& to);
LogStreamRecord ReadLogStream(Row& row);

// The experiment that a run belongs to: "default" where it named none.
absl::string_view ExperimentOf(const RunRecord& run);

extern const Table kTokens;
void Bind(const TokenRecord& token, Statement& to);
TokenRecord ReadToken(Row& row);

extern const Table kCertificates;
void Bind(const CertificateRecord& certificate, Statement& to);
CertificateRecord ReadCertificate(Row& row);

// A list of texts in one column.
std::vector<std::string> ReadTexts(Row& row);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_STORE_ROWS_H_
