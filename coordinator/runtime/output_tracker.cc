#include "coordinator/runtime/output_tracker.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace hpc::coordinator {

absl::Status OutputTracker::Restore(Now now, const Snapshot& snapshot) {
  std::set<RunId> placed;
  for (const AttemptRecord& attempt : snapshot.attempts) placed.insert(attempt.ref.run);
  // Output that comes later than that is still taken, but nobody waits for it.
  HPC_ASSIGN_OR_RETURN(const std::vector<RunId> over,
                       store_->RunsAwaitingOutput(now.wall - absl::Hours(1)));
  placed.insert(over.begin(), over.end());
  for (const RunId run : placed) HPC_RETURN_IF_ERROR(Load(now.mono, run));
  // The nodes of these runs have to connect again first.
  for (const RunId run : over) Heard(now.mono + (kPatience - kPatienceWithAbsent), run);
  return absl::OkStatus();
}

absl::Status OutputTracker::Load(MonoTime now, RunId run) {
  HPC_ASSIGN_OR_RETURN(const RunDetail detail, store_->GetRun(run));
  for (const PlacementRecord& placement : detail.placements) Add(placement);
  for (const RankRecord& rank : detail.ranks) Add(rank);
  for (const LogStreamRecord& stream : detail.log_streams) {
    StreamEnded({stream.ref, stream.rank, stream.is_stderr});
  }
  // The store does not record the end of metrics. For an attempt that is over it has been told
  // already, or a worker that comes back will tell it again.
  for (const AttemptRecord& attempt : detail.attempts) {
    if (attempt.state != AttemptState::kEnded) continue;
    Attempt& over = runs_[run].attempts[attempt.ref.number];
    for (auto& [number, rank] : over.ranks) {
      rank.metrics_ended = true;
      NoteEnded(&over, number);
    }
  }
  if (IsTerminal(detail.record.state)) End(run, now);
  return absl::OkStatus();
}

void OutputTracker::End(RunId run, MonoTime now) {
  const auto found = runs_.find(run);
  if (found == runs_.end() || found->second.quiet_since) return;
  found->second.quiet_since = now;
  ending_[run] = &found->second;
}

void OutputTracker::Apply(MonoTime now, const Change& change) {
  if (const auto* placement = std::get_if<PlacementRecord>(&change)) {
    Add(*placement);
  } else if (const auto* rank = std::get_if<RankRecord>(&change)) {
    Add(*rank);
  } else if (const auto* run = std::get_if<RunRecord>(&change)) {
    if (IsTerminal(run->state)) End(run->id, now);
  }
}

void OutputTracker::Add(const PlacementRecord& placement) {
  runs_[placement.ref.run].attempts[placement.ref.number].nodes[placement.node] = {
      placement.first_rank, placement.ranks};
}

void OutputTracker::Add(const RankRecord& rank) {
  const bool started = rank.pid != 0 || rank.exit || rank.started_at != absl::InfinitePast();
  if (!started) return;
  Touch(&runs_[rank.ref.run].attempts[rank.ref.number], rank.rank).node = rank.node;
}

OutputTracker::Rank& OutputTracker::Touch(Attempt* attempt, int32_t number) {
  const auto [rank, is_new] = attempt->ranks.try_emplace(number);
  if (is_new) attempt->open.insert(number);
  return rank->second;
}

void OutputTracker::NoteEnded(Attempt* attempt, int32_t number) {
  const Rank& rank = attempt->ranks.at(number);
  if (rank.stdout_ended && rank.stderr_ended && rank.metrics_ended) attempt->open.erase(number);
}

const OutputTracker::Attempt* OutputTracker::Find(AttemptRef ref) const {
  const auto run = runs_.find(ref.run);
  if (run == runs_.end()) return nullptr;
  const auto attempt = run->second.attempts.find(ref.number);
  return attempt == run->second.attempts.end() ? nullptr : &attempt->second;
}

absl::Status OutputTracker::CheckNode(MonoTime now, const std::string& node, AttemptRef ref) {
  if (Find(ref) == nullptr) HPC_RETURN_IF_ERROR(Load(now, ref.run));
  const Attempt* attempt = Find(ref);
  if (attempt != nullptr && attempt->nodes.contains(node)) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat("attempt ", ref.ToString(), " was never placed on node ", node));
}

absl::Status OutputTracker::CheckRank(MonoTime now, const std::string& node, AttemptRef ref,
                                      int32_t rank) {
  HPC_RETURN_IF_ERROR(CheckNode(now, node, ref));
  const Placement& placement = Find(ref)->nodes.at(node);
  if (rank >= placement.first_rank && rank < placement.first_rank + placement.ranks) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("rank ", rank, " of attempt ", ref.ToString(), " does not run on node ", node));
}

OutputTracker::Attempt* OutputTracker::Find(AttemptRef ref) {
  return const_cast<Attempt*>(std::as_const(*this).Find(ref));
}

void OutputTracker::Heard(MonoTime now, RunId run) {
  const auto found = ending_.find(run);
  if (found == ending_.end()) return;
  found->second->quiet_since = now;
  found->second->absent_passed = false;
}

bool OutputTracker::StreamEnded(const protocol::StreamId& stream) {
  Attempt* attempt = Find(stream.ref);
  if (attempt == nullptr) return false;
  Rank& rank = Touch(attempt, stream.rank);
  if (std::exchange(stream.is_stderr ? rank.stderr_ended : rank.stdout_ended, true)) return false;
  NoteEnded(attempt, stream.rank);
  return true;
}

bool OutputTracker::MetricsEnded(AttemptRef ref, int32_t number) {
  Attempt* attempt = Find(ref);
  if (attempt == nullptr || std::exchange(Touch(attempt, number).metrics_ended, true)) return false;
  NoteEnded(attempt, number);
  return true;
}

bool OutputTracker::Finished(const Run& run, absl::Duration quiet_for,
                             const std::function<bool(const std::string&)>& connected) {
  if (quiet_for >= kPatience) return true;
  for (const auto& [number, attempt] : run.attempts) {
    for (const int32_t rank : attempt.open) {
      if (quiet_for < kPatienceWithAbsent || connected(attempt.ranks.at(rank).node)) return false;
    }
  }
  return true;
}

std::vector<RunId> OutputTracker::TakeComplete(
    MonoTime now, const std::function<bool(const std::string&)>& connected) {
  std::vector<RunId> complete;
  for (auto& [id, run] : ending_) {
    const absl::Duration quiet_for = now - *run->quiet_since;
    if (Finished(*run, quiet_for, connected)) complete.push_back(id);
    run->absent_passed = quiet_for >= kPatienceWithAbsent;
  }
  for (const RunId id : complete) {
    ending_.erase(id);
    runs_.erase(id);
  }
  return complete;
}

MonoTime OutputTracker::NextDeadline() const {
  MonoTime next = MonoTime::Infinite();
  for (const auto& [id, run] : ending_) {
    next =
        std::min(next, *run->quiet_since + (run->absent_passed ? kPatience : kPatienceWithAbsent));
  }
  return next;
}

}  // namespace hpc::coordinator
