// Reads runs as listings show them.
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

// A piece of the listing, with the newest run first.
struct RunPage {
  std::vector<const RunRecord*> records;  // valid until anything of the cluster changes
  std::vector<RunExtras> extras;          // one for each record
  std::deque<RunRecord> stored;           // the records that the page itself owns
};

// Reads the newest runs that match, at most `filter.limit`. Runs that are not over come from the
// core. If a tag is asked for they come from the store, since only the store knows tags. A listing
// shows the same of them either way.
absl::StatusOr<RunPage> ReadRuns(Engine& engine, const RunFilter& filter);

// NotFound: "no run 99; the newest is run 12".
absl::StatusOr<RunRow> FindRunRow(Store& store, RunId run);

// NotFound: the run has no such attempt, or no such rank in that attempt or in any; the message
// says what it has.
absl::Status CheckOutputOf(const RunDetail& detail, std::optional<int32_t> attempt,
                           std::optional<int32_t> rank);

// Fills `out`, which is empty, with the run as clients see it. For a run that waits, this includes
// what the core knows.
void ShowRun(const Engine& engine, Now now, const RunRecord& record, const RunExtras& extras,
             v1::Run* out);

// What a run waits for, for a progress line; "" when it waits for nothing.
std::string Progress(const Engine& engine, RunId run);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_ANSWERS_RUN_PAGE_H_
