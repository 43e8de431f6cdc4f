#include "coordinator/rpc/answers/run_page.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/rpc/convert/convert_run.h"

namespace hpc::coordinator {
namespace {

bool Matches(const RunFilter& filter, const RunRecord& run) {
  if (filter.experiment.has_value() && run.request.experiment != *filter.experiment) return false;
  return filter.states.empty() || absl::c_linear_search(filter.states, run.state);
}

// Whether runs that are over can match.
bool WantsOver(const RunFilter& filter) {
  return filter.states.empty() || absl::c_any_of(filter.states, IsTerminal);
}

void Append(const RunRecord* record, RunPage* page) {
  page->records.push_back(record);
  page->extras.push_back({.run = record->id, .attempts = record->attempts});
}

// Appends runs from the store, as many as there is room for.
absl::Status AppendStored(Store& store, RunFilter filter, RunPage* page) {
  filter.limit -= static_cast<int64_t>(page->records.size());
  filter.parts = {.nodes = false, .command = false};
  HPC_ASSIGN_OR_RETURN(std::vector<RunRow> rows, store.ListRuns(filter));
  for (RunRow& row : rows) Append(&page->stored.emplace_back(std::move(row.record)), page);
  return absl::OkStatus();
}

absl::Status AppendMatching(Engine& engine, RunFilter filter, RunPage* page) {
  if (filter.tag.has_value()) return AppendStored(engine.store(), filter, page);
  if (filter.before == 0) filter.before = std::numeric_limits<RunId>::max();
  const auto full = [&] { return static_cast<int64_t>(page->records.size()) >= filter.limit; };
  while (!full()) {
    const RunRecord* const run = engine.cluster().NewestRunBelow(filter.before);
    filter.above = run == nullptr ? 0 : run->id;
    if (filter.above + 1 < filter.before && WantsOver(filter)) {
      HPC_RETURN_IF_ERROR(AppendStored(engine.store(), filter, page));
    }
    if (run == nullptr) break;
    if (!full() && Matches(filter, *run)) Append(run, page);
    filter.before = run->id;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RunPage> ReadRuns(Engine& engine, const RunFilter& filter) {
  RunPage page;
  HPC_RETURN_IF_ERROR(AppendMatching(engine, filter, &page));
  HPC_RETURN_IF_ERROR(engine.store().DescribeRuns(filter.parts, &page.extras));
  return page;
}

absl::StatusOr<RunRow> FindRunRow(Store& store, RunId run) {
  RunFilter filter;
  filter.limit = 1;
  if (run > 0 && run < std::numeric_limits<RunId>::max()) {
    filter.before = run + 1;  // the newest run below the next id is this one, if it exists
    HPC_ASSIGN_OR_RETURN(const std::vector<RunRow> rows, store.ListRuns(filter));
    if (!rows.empty() && rows[0].record.id == run) return rows[0];
  }
  filter.before = 0;
  HPC_ASSIGN_OR_RETURN(const std::vector<RunRow> newest, store.ListRuns(filter));
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

void ShowRun(const Engine& engine, Now now, const RunRecord& record, const RunExtras& extras,
             v1::Run* out) {
  ToProto(record, extras, out);
  if (record.state == RunState::kQueued) {
    AddWait(engine.cluster().Waiting(now, record.id), out);
  }
}

std::string Progress(const Engine& engine, RunId run) {
  return engine.cluster().Waiting(engine.now(), run).text;
}

}  // namespace hpc::coordinator
