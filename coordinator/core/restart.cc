#include "coordinator/core/restart.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/core/policy/fence.h"
#include "coordinator/core/values/exit_words.h"

namespace hpc::coordinator {
namespace {

// Converts a time of the wall clock to the monotonic clock. The result is never in the future.
MonoTime MonoOf(absl::Time t, Now now) {
  return now.mono - std::max(now.wall - t, absl::ZeroDuration());
}

void SortByNodeRank(std::vector<PlacementRecord>* placements) {
  std::sort(placements->begin(), placements->end(),
            [](const auto& a, const auto& b) { return a.node_rank < b.node_rank; });
}

Member MakeMember(const PlacementRecord& placement, const AttemptRecord& attempt) {
  Member m;
  m.placement = placement;
  if (attempt.state != AttemptState::kWaking) m.Reach(MemberStage::kToldToPrepare);
  // An order to start goes out only after the port that it names is durable.
  if (attempt.master_port != 0) m.Reach(MemberStage::kToldToStart);
  if (attempt.state == AttemptState::kRunning) m.Reach(MemberStage::kStarted);
  return m;
}

// When the rank ended. A record of an older version does not say how early that may have been.
Moment EndOf(const RankRecord& rank, Now now) {
  const MonoTime latest = MonoOf(rank.ended_at, now);
  const bool told = rank.ended_from != absl::InfinitePast();
  const MonoTime earliest = told ? std::min(MonoOf(rank.ended_from, now), latest) : latest;
  return {{earliest, latest}, std::nullopt};
}

void RestoreRanks(const std::vector<RankRecord>& records, Attempt* attempt) {
  attempt->ranks = MakeRanks(attempt->members);
  for (const RankRecord& record : records) {
    if (record.rank < 0 || record.rank >= static_cast<int32_t>(attempt->ranks.size())) continue;
    attempt->ranks[static_cast<size_t>(record.rank)] = record;
    if (record.exit.has_value() && SucceededByItself(*record.exit)) ++attempt->ranks_done;
  }
}

Cause CauseOf(const CauseRecord& record, Now now) {
  Cause cause;
  cause.kind = record.kind;
  cause.outcome = record.outcome;
  cause.when = {MonoOf(record.from, now), MonoOf(record.until, now)};
  cause.node = record.node;
  cause.text = record.text;
  cause.exit_code = record.exit_code;
  cause.free_of_charge = record.free_of_charge;
  cause.guessed = record.guessed;
  cause.of_complaints = record.of_complaints;
  cause.rank = record.rank;
  return cause;
}

// Restores the causes in the order in which they were heard, and then the failures that are known
// from the ranks' records alone.
void RestoreCauses(const RunRequest& request, Now now, Attempt* attempt) {
  std::vector<const RankRecord*> failed(attempt->ranks.size(), nullptr);
  for (size_t i = 0; i < failed.size(); ++i) {
    const RankRecord& rank = attempt->ranks[i];
    const bool by_itself = rank.exit.has_value() && !rank.exit->after_stop;
    if (by_itself && !SucceededByItself(*rank.exit)) failed[i] = &rank;
    if (!rank.exit) continue;
    if (const std::string said = SpokenOf(rank); !said.empty()) attempt->causes.LearnSpokenOf(said);
  }
  const auto add_failure = [&](const RankRecord* rank) {
    if (rank == nullptr) return;
    attempt->causes.Add(FailureOf(*rank, EndOf(*rank, now), request.retry_exits));
  };
  for (const CauseRecord& record : attempt->record.causes) {
    const bool of_rank = record.rank >= 0 && static_cast<size_t>(record.rank) < failed.size();
    const RankRecord* const rank =
        of_rank ? std::exchange(failed[static_cast<size_t>(record.rank)], nullptr) : nullptr;
    IsFailure(record.kind) ? add_failure(rank) : attempt->causes.Add(CauseOf(record, now));
  }
  for (const RankRecord* rank : failed) add_failure(rank);
}

// An older version stored only the cause that decided. Restores that, unless it was the failure of
// a rank.
void RestoreStopCause(Now now, Attempt* attempt) {
  const AttemptRecord& record = attempt->record;
  if (!attempt->stopping() || !record.causes.empty()) return;
  if (record.outcome == AttemptOutcome::kProgramFailed && !attempt->causes.empty()) return;
  // A still older version does not say when it happened. Then it counts as the first.
  const bool told = record.caused_until != absl::InfinitePast();
  Cause cause;
  cause.outcome = record.outcome;
  cause.when = told ? Window{MonoOf(record.caused_from, now), MonoOf(record.caused_until, now)}
                    : Window::Exactly(attempt->began);
  cause.text = record.reason;
  cause.exit_code = record.exit_code;
  cause.free_of_charge = record.free_of_charge;
  attempt->causes.AddFirst(std::move(cause));
}

std::unique_ptr<Attempt> RestoreAttempt(const AttemptRecord& record,
                                        std::vector<PlacementRecord> placements,
                                        const std::vector<RankRecord>& ranks,
                                        const RunRequest& request, Now now) {
  auto attempt = std::make_unique<Attempt>();
  attempt->record = record;
  attempt->began = MonoOf(record.created_at, now);
  attempt->running_since = MonoOf(record.started_at, now);
  attempt->since_told = false;
  attempt->connected_unknown = true;
  attempt->stopping_since = now.mono;
  attempt->stopped_before = attempt->stopping();
  attempt->stop_grace = request.stop_grace;
  SortByNodeRank(&placements);
  for (const PlacementRecord& p : placements) {
    attempt->members.push_back(MakeMember(p, record));
  }
  RestoreRanks(ranks, attempt.get());
  RestoreCauses(request, now, attempt.get());
  RestoreStopCause(now, attempt.get());
  return attempt;
}

// The nodes' names, by node rank.
std::vector<std::string> NamesOf(std::vector<PlacementRecord> placements) {
  SortByNodeRank(&placements);
  std::vector<std::string> names;
  for (const PlacementRecord& p : placements) names.push_back(p.node);
  return names;
}

void RestoreHoldings(const Attempt& attempt, State* state) {
  for (const Member& m : attempt.members) {
    Node* node = state->nodes.Find(m.placement.node);
    if (node == nullptr) {
      NodeRecord record;
      record.name = m.placement.node;
      record.address = m.placement.address;
      node = state->nodes.Add(record);
    }
    if (!m.placement.returned) node->holdings.push_back({attempt.ref(), m.placement.devices});
  }
}

// The runs that the backup knows are held until all ranks that the backup does not know of must
// have ended, whether or not anybody reports that. Each start of the coordinator begins this time
// anew until it has passed once: no clock could tell how long ago the last start was.
void HoldAfterBackup(const Restored& restored, Now now, State* state) {
  if (restored.at == absl::InfinitePast() || restored.hold_over) return;
  absl::Duration longest_alone;
  for (RunId id : state->runs.Ids()) {
    if (id > restored.known_run) continue;
    longest_alone =
        std::max(longest_alone, LongestAlone(state->options, state->runs.Find(id)->request()));
  }
  state->backup_restored_at = restored.at;
  state->held_run = restored.known_run;
  state->held_until = now.mono + longest_alone;
  state->timers.Set(Alarm::kHold, 0, state->held_until);
}

}  // namespace

void Load(const Snapshot& snapshot, Now present, State* state) {
  // As the clock would be if nobody had set it.
  const Now now{present.mono, present.wall - snapshot.clock_set};
  std::map<AttemptRef, std::vector<PlacementRecord>> placements;
  std::map<AttemptRef, std::vector<RankRecord>> ranks;
  for (const PlacementRecord& p : snapshot.placements) placements[p.ref].push_back(p);
  for (const RankRecord& r : snapshot.ranks) ranks[r.ref].push_back(r);
  for (NodeRecord node : snapshot.nodes) {
    node.last_seen += snapshot.clock_set;
    state->nodes.Add(node);
  }
  for (const RunRecord& record : snapshot.runs) {
    Run* run = state->runs.Add(record);
    if (record.attempts > 0) run->last_nodes = NamesOf(placements[{run->id(), record.attempts}]);
    if (run->id() <= snapshot.restored.known_run) {
      run->taken_attempt = snapshot.restored.taken_attempt;
    }
  }
  HoldAfterBackup(snapshot.restored, now, state);
  for (const AttemptRecord& record : snapshot.attempts) {
    Run* run = state->runs.Find(record.ref.run);
    if (run == nullptr || record.state == AttemptState::kEnded) continue;
    run->attempt =
        RestoreAttempt(record, placements[record.ref], ranks[record.ref], run->request(), now);
    RestoreHoldings(*run->attempt, state);
  }
}

void ResumeRuns(Turn& turn, State* state, Gangs* gangs, RunLedger* ledger) {
  for (RunId id : state->runs.Ids()) {
    Run* run = state->runs.Find(id);
    if (run == nullptr) continue;  // it ended together with a run that it waited for
    if (run->attempt == nullptr) {
      ledger->Resume(turn, run);
      continue;
    }
    switch (run->attempt->record.state) {
      case AttemptState::kWaking:
      case AttemptState::kPreparing:
      case AttemptState::kStarting: {
        StopOrder order{AttemptOutcome::kStartFailed,
                        "the coordinator restarted while the run was being started",
                        run->request().stop_grace};
        order.free_of_charge = true;
        gangs->Stop(turn, run, order);
        break;
      }
      case AttemptState::kRunning:
      case AttemptState::kStopping:
        gangs->Watch(run);
        gangs->StopForFailures(turn, run);
        break;
      case AttemptState::kEnded:
        break;
    }
  }
}

}  // namespace hpc::coordinator
