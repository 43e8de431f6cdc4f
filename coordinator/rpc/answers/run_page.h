// Reads runs as listings show them.
#ifndef HPC_COORDINATOR_RPC_ANSWERS_RUN_PAGE_H_
#define HPC_COORDINATOR_RPC_ANSWERS_RUN_PAGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/ids.h"
#include "coordinator/runtime/engine.h"
#include "coordinator/store/store_reader.h"
#include "hpc/v1/run.pb.h"
#include "hpc/v1/runs.pb.h"

namespace hpc::coordinator {

// Fills `page`, which is empty, with the newest runs that match and are not over, at most
// `filter.limit`, as the core knows them: the store's half of each is missing. If a tag is asked
// for there are none, since only the store knows tags.
void AddLiveRuns(const Engine& engine, const RunFilter& filter, v1::ListRunsResponse* page);

// Completes a page that AddLiveRuns has filled: the newest runs that match, at most `filter.limit`,
// or fewer that fill a message. Runs that were not in the core come from the store. A listing shows
// the same of a run either way, except that ShowWait has to be called for what has come from the
// store and is not over. Returns the bytes of the runs as messages.
absl::StatusOr<int64_t> ReadRuns(StoreReader& reader, const RunFilter& filter,
                                 v1::ListRunsResponse* page);

// NotFound: "no run 99; the newest is run 12".
absl::StatusOr<RunRow> FindRunRow(StoreReader& reader, RunId run);

// NotFound: the run has no such attempt, or no such rank in that attempt or in any; the message
// says what it has.
absl::Status CheckOutputOf(const RunDetail& detail, std::optional<int32_t> attempt,
                           std::optional<int32_t> rank);

// The run in the core; null if it is over, or was never submitted. Valid until anything of the
// cluster changes.
const RunRecord* LiveRun(const Engine& engine, RunId run);

// Whether the core has the run in this state. If not, it has moved since its state was read: what
// the core could say of it would be of a state that is yet to be told.
bool IsStill(const Engine& engine, RunId run, RunState state);

// Adds to a run as the store has it what the core knows of its waiting, if it still waits there.
void ShowWait(const Engine& engine, v1::Run* run);

// What a run waits for, for a progress line; "" when it waits for nothing. Nothing if the run has
// moved since its state was read.
std::optional<std::string> Progress(const Engine& engine, const v1::Run& run);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_ANSWERS_RUN_PAGE_H_
