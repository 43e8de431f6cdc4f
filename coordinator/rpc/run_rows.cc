#include "coordinator/rpc/run_rows.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/rpc/convert_run.h"

namespace hpc::coordinator {

absl::StatusOr<RunRow> FindRunRow(Store& store, RunId run) {
  RunFilter filter;
  filter.before = run + 1;  // the newest run below the next id is this one, if it exists
  filter.limit = 1;
  if (run > 0) {
    HPC_ASSIGN_OR_RETURN(const std::vector<RunRow> rows, store.ListRuns(filter));
    if (!rows.empty() && rows[0].record.id == run) return rows[0];
  }
  return absl::NotFoundError(absl::StrCat("no run ", run));
}

v1::Run ShowRun(const Engine& engine, const RunRow& row) {
  v1::Run run = ToProto(row);
  if (row.record.state == RunState::kQueued) {
    AddWait(engine.cluster().Waiting(engine.now(), row.record.id), &run);
  }
  return run;
}

std::string Progress(const Engine& engine, RunId run) {
  return engine.cluster().Waiting(engine.now(), run).text;
}

}  // namespace hpc::coordinator
