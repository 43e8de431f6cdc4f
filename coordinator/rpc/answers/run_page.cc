#include "coordinator/rpc/answers/run_page.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/rpc/convert/convert_run.h"
#include "coordinator/rpc/convert/limits.h"

namespace hpc::coordinator {
namespace {

bool Matches(const RunFilter& filter, const RunRecord& run) {
  const auto is = [](const std::optional<std::string>& wanted, const std::string& text) {
    return !wanted.has_value() || text == *wanted;
  };
  if (!is(filter.experiment, run.request.experiment) || !is(filter.user, run.request.user) ||
      !is(filter.name, run.request.name)) {
    return false;
  }
  return filter.states.empty() || absl::c_linear_search(filter.states, run.state);
}

constexpr RunState kOver[] = {RunState::kSucceeded, RunState::kFailed, RunState::kCancelled,
                              RunState::kTimedOut};

// The states that are asked for of runs that are over.
std::vector<RunState> StatesOver(const RunFilter& filter) {
  std::vector<RunState> states;
  for (const RunState state : kOver) {
    if (filter.states.empty() || absl::c_linear_search(filter.states, state)) {
      states.push_back(state);
    }
  }
  return states;
}

// Appends runs from the store.
absl::Status AppendStored(StoreReader& reader, RunFilter filter, v1::ListRunsResponse* page) {
  filter.parts = {.nodes = false, .command = false};
  HPC_ASSIGN_OR_RETURN(const std::vector<RunRow> rows, reader.ListRuns(filter));
  for (const RunRow& row : rows) ToProto(row.record, page->add_runs());
  return absl::OkStatus();
}

// Appends the runs that are over, as many as there is room for between those that are not. A run
// that has ended since the page was begun is in it already, and one that was submitted since is
// left out.
absl::Status AppendOver(StoreReader& reader, RunFilter filter, v1::ListRunsResponse* page) {
  filter.states = StatesOver(filter);
  if (filter.states.empty()) return absl::OkStatus();
  if (filter.before == 0) filter.before = std::numeric_limits<RunId>::max();
  const int live = page->runs_size();
  const int64_t most = filter.limit;
  for (int i = 0; i <= live; ++i) {
    // So many runs come before this gap: live ones, and those that have been appended.
    filter.limit = most - i - (page->runs_size() - live);
    if (filter.limit <= 0) break;
    filter.above = i < live ? page->runs(i).id() : 0;
    if (filter.above + 1 < filter.before) HPC_RETURN_IF_ERROR(AppendStored(reader, filter, page));
    filter.before = filter.above;
  }
  return absl::OkStatus();
}

void Cut(int size, v1::ListRunsResponse* page) {
  if (size < page->runs_size()) {
    page->mutable_runs()->DeleteSubrange(size, page->runs_size() - size);
  }
}

// Adds the store's half of each run, until the message is full. Returns the bytes of the runs.
absl::StatusOr<int64_t> Complete(StoreReader& reader, RunParts parts, v1::ListRunsResponse* page) {
  std::vector<RunExtras> extras;
  for (const v1::Run& run : page->runs()) {
    extras.push_back({.run = run.id(), .attempts = run.attempts()});
  }
  HPC_RETURN_IF_ERROR(reader.DescribeRuns(parts, &extras));
  int fit = 0;
  int64_t bytes = 0;
  for (; fit < page->runs_size() && bytes < kBytesPerMessage; ++fit) {
    AddExtras(extras[static_cast<size_t>(fit)], page->mutable_runs(fit));
    bytes += static_cast<int64_t>(page->runs(fit).ByteSizeLong());
  }
  Cut(fit, page);
  return bytes;
}

}  // namespace

void AddLiveRuns(const Engine& engine, const RunFilter& filter, v1::ListRunsResponse* page) {
  if (filter.tag.has_value()) return;
  const Now now = engine.now();
  RunId before = filter.before == 0 ? std::numeric_limits<RunId>::max() : filter.before;
  while (page->runs_size() < filter.limit) {
    const RunRecord* const run = engine.cluster().NewestRunBelow(before);
    if (run == nullptr) break;
    before = run->id;
    if (!Matches(filter, *run)) continue;
    v1::Run* const shown = page->add_runs();
    ToProto(*run, shown);
    if (run->state == RunState::kQueued) AddWait(engine.cluster().Waiting(now, run->id), shown);
  }
}

absl::StatusOr<int64_t> ReadRuns(StoreReader& reader, const RunFilter& filter,
                                 v1::ListRunsResponse* page) {
  if (filter.tag.has_value()) {
    HPC_RETURN_IF_ERROR(AppendStored(reader, filter, page));
  } else {
    HPC_RETURN_IF_ERROR(AppendOver(reader, filter, page));
    std::sort(page->mutable_runs()->pointer_begin(), page->mutable_runs()->pointer_end(),
              [](const v1::Run* a, const v1::Run* b) { return a->id() > b->id(); });
    Cut(static_cast<int>(filter.limit), page);
  }
  return Complete(reader, filter.parts, page);
}

absl::StatusOr<RunRow> FindRunRow(StoreReader& reader, RunId run) {
  RunFilter filter;
  filter.limit = 1;
  if (run > 0 && run < std::numeric_limits<RunId>::max()) {
    filter.before = run + 1;  // the newest run below the next id is this one, if it exists
    HPC_ASSIGN_OR_RETURN(const std::vector<RunRow> rows, reader.ListRuns(filter));
    if (!rows.empty() && rows[0].record.id == run) return rows[0];
  }
  filter.before = 0;
  HPC_ASSIGN_OR_RETURN(const std::vector<RunRow> newest, reader.ListRuns(filter));
  return absl::NotFoundError(
      absl::StrCat("no run ", run,
                   newest.empty() ? ": none has been submitted yet"
                                  : absl::StrCat("; the newest is run ", newest[0].record.id)));
}

absl::Status CheckOutputOf(const RunDetail& detail, std::optional<int32_t> attempt,
                           std::optional<int32_t> rank) {
  const std::string run = absl::StrCat("run ", detail.record.id);
  if (detail.attempts.empty()) {
    return absl::NotFoundError(absl::StrCat(run, " has no attempt yet: it is ",
                                            Name(detail.record.state), ", and no rank has run"));
  }
  const int32_t attempts = detail.attempts.back().ref.number;
  if (attempt.has_value() && (*attempt < 1 || *attempt > attempts)) {
    return absl::NotFoundError(
        absl::StrCat(run, " has no attempt ", *attempt, "; it has ",
                     attempts == 1 ? "only attempt 1" : absl::StrCat("attempts 1 to ", attempts)));
  }
  int32_t ranks = 0;
  for (const AttemptRecord& record : detail.attempts) {
    if (!attempt.has_value() || *attempt == record.ref.number) {
      ranks = std::max(ranks, record.world_size);
    }
  }
  if (!rank.has_value() || (*rank >= 0 && *rank < ranks)) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(
      attempt.has_value() ? absl::StrCat("attempt ", detail.record.id, ".", *attempt) : run,
      " has no rank ", *rank, "; it has ",
      ranks == 1 ? "only rank 0" : absl::StrCat("ranks 0 to ", ranks - 1)));
}

const RunRecord* LiveRun(const Engine& engine, RunId run) {
  if (run <= 0 || run == std::numeric_limits<RunId>::max()) return nullptr;
  const RunRecord* const record = engine.cluster().NewestRunBelow(run + 1);
  return record != nullptr && record->id == run ? record : nullptr;
}

bool IsStill(const Engine& engine, RunId run, RunState state) {
  const RunRecord* const live = LiveRun(engine, run);
  return live != nullptr && live->state == state;
}

void ShowWait(const Engine& engine, v1::Run* run) {
  if (run->state() == v1::RUN_STATE_QUEUED && IsStill(engine, run->id(), RunState::kQueued)) {
    AddWait(engine.cluster().Waiting(engine.now(), run->id()), run);
  }
}

std::optional<std::string> Progress(const Engine& engine, const v1::Run& run) {
  const auto state = static_cast<RunState>(run.state());
  if (IsTerminal(state)) return "";
  if (!IsStill(engine, run.id(), state)) return std::nullopt;
  return engine.cluster().Waiting(engine.now(), run.id()).text;
}

}  // namespace hpc::coordinator
