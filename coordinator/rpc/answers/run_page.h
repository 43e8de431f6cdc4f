// Reading runs as listings show them.
#ifndef HPC_COORDINATOR_RPC_ANSWERS_RUN_PAGE_H_
#define HPC_COORDINATOR_RPC_ANSWERS_RUN_PAGE_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/ids.h"
#include "coordinator/runtime/engine.h"
#include "coordinator/store/store.h"
#include "hpc/v1/run.pb.h"

namespace hpc::coordinator {

// A piece of the listing, newest first.
struct RunPage {
  std::vector<const RunRecord*> records;  // valid until anything of the cluster changes
  std::vector<RunExtras> extras;          // of each
  std::deque<RunRecord> stored;           // those of the records that are the page's own
};

// The newest runs that match, at most `filter.limit`. Those that are not over are the core's,
// unless a tag is asked for, which only the store knows; what a listing shows of them is the same
// in both.
absl::StatusOr<RunPage> ReadRuns(Engine& engine, const RunFilter& filter);

// NotFound: "no run 99; the newest is run 12".
absl::StatusOr<RunRow> FindRunRow(Store& store, RunId run);

// NotFound: the run has had no such attempt, or no such rank in it, or in any; says what it has.
absl::Status CheckOutputOf(const RunDetail& detail, std::optional<int32_t> attempt,
                           std::optional<int32_t> rank);

// The run as clients see it, with what the core knows of one that waits; into an empty one.
void ShowRun(const Engine& engine, Now now, const RunRecord& record, const RunExtras& extras,
             v1::Run* out);

// What a run waits for, for a progress line; "" when it waits for nothing.
std::string Progress(const Engine& engine, RunId run);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_ANSWERS_RUN_PAGE_H_
