// Converts runs, attempts and ranks between the wire and plain values.
#ifndef HPC_COORDINATOR_RPC_CONVERT_CONVERT_RUN_H_
#define HPC_COORDINATOR_RPC_CONVERT_CONVERT_RUN_H_

#include "coordinator/core/values/records.h"
#include "coordinator/core/values/reports.h"
#include "coordinator/store/logs/log_store.h"
#include "coordinator/store/store_reader.h"
#include "hpc/v1/run.pb.h"
#include "hpc/v1/runs.pb.h"
#include "protocol/rank_exit.h"

namespace hpc::coordinator {

// Fills `out`, which is empty, with a row of a listing. (A listing uses one message again and
// again.) A command that is too long for a row is cut, and ends in "...".
void ToProto(const RunRecord& record, const RunExtras& extras, v1::Run* out);
// The two halves of it.
void ToProto(const RunRecord& record, v1::Run* out);
void AddExtras(const RunExtras& extras, v1::Run* out);
// Adds what the core knows better than the store while a run waits.
void AddWait(RunWait wait, v1::Run* run);

v1::RunDetail ToProto(const RunDetail& detail);
v1::RankExit ToProto(const protocol::RankExit& exit);

v1::LogPiece ToProto(LogRecord record);
v1::MetricPoint ToProto(const MetricRow& row);
v1::MetricSummary ToProto(const MetricSummary& summary);
v1::Experiment ToProto(const ExperimentRow& row);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_CONVERT_CONVERT_RUN_H_
