// Reading one run as listings show it.
#ifndef HPC_COORDINATOR_RPC_RUN_ROWS_H_
#define HPC_COORDINATOR_RPC_RUN_ROWS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/ids.h"
#include "coordinator/runtime/engine.h"
#include "coordinator/store/store.h"
#include "hpc/v1/run.pb.h"

namespace hpc::coordinator {

// NotFound: "no run 99; the newest is run 12".
absl::StatusOr<RunRow> FindRunRow(Store& store, RunId run);

// NotFound: the run has had no such attempt, or no such rank in it, or in any; says what it has.
absl::Status CheckOutputOf(const RunDetail& detail, std::optional<int32_t> attempt,
                           std::optional<int32_t> rank);

// The row as clients see it, with what the core knows of a run that waits; into an empty one.
void ShowRun(const Engine& engine, const RunRow& row, v1::Run* out);

// What a run waits for, for a progress line; "" when it waits for nothing.
std::string Progress(const Engine& engine, RunId run);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_RUN_ROWS_H_
