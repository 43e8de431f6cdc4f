#include "tests/sim/machines/disk.h"

#include <algorithm>

namespace hpc::sim {

namespace co = hpc::coordinator;

absl::Status Disk::Commit(const Batch& batch) {
  if (full_) return absl::ResourceExhaustedError("disk full");
  for (const auto& [id, run] : batch.requests) requests_[id] = run;
  for (const co::Change& change : batch.changes) {
    if (context_->Bugged(Bug::kDropChange, 0.01)) continue;
    std::visit([this](const auto& record) { Apply(record); }, change);
  }
  return absl::OkStatus();
}

void Disk::CheckTold(const protocol::CoordinatorMessage& command) const {
  const auto* prepare = std::get_if<protocol::Prepare>(&command);
  const auto* start = std::get_if<protocol::Start>(&command);
  if (prepare == nullptr && start == nullptr) return;
  const AttemptRef ref = prepare != nullptr ? prepare->ref : start->ref;
  const auto attempt = attempts_.find(ref);
  const co::AttemptState least =
      prepare != nullptr ? co::AttemptState::kPreparing : co::AttemptState::kStarting;
  if (attempt != attempts_.end() && attempt->second.state >= least) return;
  context_->verdict.Broken("durable-before-told", "a node is told to ",
                           prepare != nullptr ? "prepare " : "start ", ref.ToString(),
                           ", of which the disk knows nothing");
}

void Disk::Apply(const co::RunRecord& run) {
  const auto [it, fresh] = runs_.try_emplace(run.id, run);
  if (fresh) return;
  const co::RunRecord old = std::exchange(it->second, run);
  if (!(old.request == run.request) || old.submitted_at != run.submitted_at) {
    context_->verdict.Broken("run-ids", "run ", run.id, " is now another run");
  }
  if (co::IsTerminal(old.state) && old.state != run.state) {
    context_->verdict.Broken("over-is-over", "run ", run.id, " was ", co::Name(old.state),
                             " and is now ", co::Name(run.state));
  }
  if (run.failures > old.failures) {
    census_->blame().CheckPaid({run.id, run.attempts}, run.request);
  }
  if (run.state == co::RunState::kSucceeded && old.state != run.state) CheckSuccess(run);
}

// Nobody may be told that a run succeeded if one of its ranks did not.
void Disk::CheckSuccess(const co::RunRecord& run) const {
  const AttemptRef ref{run.id, run.attempts};
  const auto attempt = attempts_.find(ref);
  const int32_t world = attempt == attempts_.end() ? 1 : attempt->second.world_size;
  for (int32_t rank = 0; rank < world; ++rank) {
    const auto exit = census_->ExitOf(ref, rank);
    if (exit && exit->exit_code == 0 && !exit->after_stop) continue;
    context_->verdict.Broken("true-success", "run ", run.id, " counts as succeeded, but rank ",
                             rank, " of ", ref.ToString(), " did not exit 0 by itself");
  }
}

void Disk::Apply(const co::AttemptRecord& attempt) {
  const auto [it, fresh] = attempts_.insert_or_assign(attempt.ref, attempt);
  const auto cancelled = cancelled_.find(attempt.ref.run);
  if (fresh && cancelled != cancelled_.end() && attempt.ref.number > cancelled->second.attempts) {
    context_->verdict.Broken("acknowledged-cancel", "run ", attempt.ref.run, " begins attempt ",
                             attempt.ref.number, " after its cancel");
  }
  if (fresh && held_.count(attempt.ref.run) > 0) {
    context_->verdict.Broken("held-waits", "run ", attempt.ref.run, " begins attempt ",
                             attempt.ref.number, " while it is held");
  }
  census_->blame().CheckVerdict(attempt);
  if (attempt.state == co::AttemptState::kEnded) CheckCause(attempt);
  if (attempt.state != co::AttemptState::kRunning) return;
  for (int32_t rank = 0; rank < attempt.world_size; ++rank) {
    if (census_->EverStarted(attempt.ref, rank)) continue;
    context_->verdict.Broken("gang-complete", "attempt ", attempt.ref.ToString(),
                             " counts as running, but rank ", rank, " was never started");
  }
}

void Disk::CheckCause(const co::AttemptRecord& attempt) const {
  if (attempt.outcome == co::AttemptOutcome::kSucceeded) return;
  const auto first = ranks_.lower_bound({attempt.ref, 0});
  for (auto it = first; it != ranks_.end() && it->first.first == attempt.ref; ++it) {
    const auto& exit = it->second.exit;
    if (!exit || exit->after_stop || exit->exit_code == 0) continue;
    census_->blame().CheckEarliest(attempt, it->second.rank);
  }
}

void Disk::Apply(const co::PlacementRecord& placement) {
  placements_[{placement.ref, placement.node}] = placement;
}

void Disk::Apply(const co::RankRecord& rank) {
  ranks_[{rank.ref, rank.rank}] = rank;
  if (!rank.exit || rank.pid == 0) return;
  const auto truth = census_->ExitOf(rank.ref, rank.rank);
  if (truth && truth->exit_code == rank.exit->exit_code && truth->signal == rank.exit->signal &&
      truth->after_stop == rank.exit->after_stop) {
    return;
  }
  context_->verdict.Broken("true-exit", "rank ", rank.rank, " of ", rank.ref.ToString(),
                           " is recorded with an end that it did not have");
}

void Disk::Apply(const co::NodeRecord& node) { nodes_[node.name] = node; }

void Disk::Apply(const co::EventRecord& event) {
  if (event.id != last_event_ + 1) {
    context_->verdict.Broken("every-event", "event ", event.id, " follows event ", last_event_);
  }
  last_event_ = event.id;
  context_->trace.Note("  ", event.kind, " ", event.run, ".", event.attempt, " ", event.node, ": ",
                       event.text);
}

co::Snapshot Disk::Load() const {
  co::Snapshot snapshot;
  snapshot.last_run = runs_.empty() ? 0 : runs_.rbegin()->first;
  snapshot.last_event = context_->options.bug == Bug::kRestoreEventIds ? 0 : last_event_;
  const auto live = [&](AttemptRef ref) {
    const auto attempt = attempts_.find(ref);
    return !co::IsTerminal(runs_.at(ref.run).state) && attempt != attempts_.end() &&
           attempt->second.state != co::AttemptState::kEnded;
  };
  for (const auto& [id, run] : runs_) {
    if (!co::IsTerminal(run.state)) snapshot.runs.push_back(run);
  }
  if (context_->options.bug == Bug::kReuseRunIds) {
    snapshot.last_run = snapshot.runs.empty() ? 0 : snapshot.runs.back().id;
  }
  for (const auto& [ref, attempt] : attempts_) {
    if (live(ref)) snapshot.attempts.push_back(attempt);
  }
  const bool forget = context_->options.bug == Bug::kRestoreWithoutPlacements;
  for (const auto& [key, placement] : placements_) {
    const co::RunRecord& run = runs_.at(key.first.run);
    if (forget || co::IsTerminal(run.state) || key.first.number != run.attempts) continue;
    snapshot.placements.push_back(placement);
  }
  for (const auto& [key, rank] : ranks_) {
    if (live(key.first)) snapshot.ranks.push_back(rank);
  }
  for (const auto& [name, node] : nodes_) {
    if (!node.forgotten) snapshot.nodes.push_back(node);
  }
  return snapshot;
}

void Disk::PromiseCancelled(RunId run) {
  cancelled_[run] = {runs_.at(run).attempts, context_->agenda.clock().wall};
}

bool Disk::HadFailedBefore(RunId run) const {
  const auto found = attempts_.find({run, runs_.at(run).attempts});
  if (found == attempts_.end()) return false;
  const co::AttemptRecord& last = found->second;
  const bool by_itself = last.outcome == co::AttemptOutcome::kProgramFailed ||
                         last.outcome == co::AttemptOutcome::kRefused ||
                         last.outcome == co::AttemptOutcome::kTimedOut;
  return by_itself && last.caused_from <= cancelled_.at(run).at;
}

std::optional<RunId> Disk::FindRequest(const std::string& id) const {
  const auto it = requests_.find(id);
  if (it == requests_.end()) return std::nullopt;
  return it->second;
}

const co::RunRecord* Disk::Run(RunId run) const {
  const auto it = runs_.find(run);
  return it == runs_.end() ? nullptr : &it->second;
}

}  // namespace hpc::sim
