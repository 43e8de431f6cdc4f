#include "coordinator/core/cluster_impl.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/core/gangs/rendezvous.h"
#include "coordinator/core/restart.h"

namespace hpc::coordinator {

Cluster::Impl::Impl(const ClusterOptions& options, const Snapshot& snapshot, Now now,
                    PastRunLookup past_run, void* past_run_context)
    : events(snapshot.last_event),
      state(options, snapshot.last_run),
      ledger(&state, past_run, past_run_context),
      gangs(&state, &ledger),
      starter(&state, &gangs),
      power(&state, &gangs, &starter),
      owners(&state, &gangs, &starter, &power),
      liveness(&state, &gangs, &starter, &power, &owners),
      removal(&state, &power),
      scheduler(&state, &starter, &power),
      giver(&state, &gangs),
      grower(&state, &gangs, &scheduler),
      loaded_at(now.mono) {
  state.since = now.mono;
  state.seen_saved = now.mono;
  Load(snapshot, now, &state);
}

Turn Cluster::Impl::Begin(Now now, Effects* effects) {
  Turn turn(now, effects, &events);
  state.pauses.AtWork(now.mono);
  if (!resumed) {
    resumed = true;
    Resume(turn);
  }
  return turn;
}

void Cluster::Impl::Resume(Turn& turn) {
  ResumeRuns(turn, &state, &gangs, &ledger);
  for (const auto& [name, node] : state.nodes.by_name()) {
    power.Restore(turn, node);
    owners.Restore(turn, node);
    liveness.Restore(turn, node);
  }
}

void Cluster::Impl::Tick(Turn& turn, Now now) {
  while (const std::optional<TimerKey> key = state.timers.PopDue(now.mono)) Ring(turn, *key);
  HandOnReturnedDevices(turn);
  const bool changed = state.capacity_changed;
  const bool near =
      std::any_of(state.newly_queued.begin(), state.newly_queued.end(), [&](RunId id) {
        const Run* run = state.runs.Find(id);
        return run != nullptr && giver.IsNear(*run);
      });
  scheduler.Schedule(turn, now);
  if (changed || near) giver.LookAtAll(turn);
  // The queue comes first: what it leaves free is for runs that run already.
  if (changed) grower.LookAtAll(turn);
}

void Cluster::Impl::Ring(Turn& turn, TimerKey key) {
  switch (key.alarm) {
    case Alarm::kLease:
      return liveness.OnTimer(turn, state.nodes.At(key.subject));
    case Alarm::kPower:
      return power.OnTimer(turn, state.nodes.At(key.subject));
    case Alarm::kLend:
      return owners.OnTimer(turn, state.nodes.At(key.subject));
    case Alarm::kLeaveAlone:
      state.nodes.At(key.subject)->MayBeWoken();
      state.capacity_changed = true;
      return;
    case Alarm::kPhase:
      return gangs.PhaseOver(turn, state.runs.Find(key.subject));
    case Alarm::kRendezvous:
      return RendezvousLate(turn, &state, state.runs.Find(key.subject));
    case Alarm::kFence:
      return gangs.FencePassed(turn, state.runs.Find(key.subject));
    case Alarm::kLastCall:
      state.capacity_changed = true;
      return;
    case Alarm::kGrow:
      giver.LookAtAll(turn);
      return grower.LookAt(turn, state.runs.Find(key.subject), /*at_checkpoint=*/false);
    case Alarm::kHold:
      turn.Save(HoldOver{state.backup_restored_at});
      state.capacity_changed = true;
      return;
    case Alarm::kDoubt:
      return gangs.lost_nodes().LookAtSilence(turn, state.nodes.At(key.subject));
    case Alarm::kWord:
      return gangs.WordOver(turn, state.runs.Find(key.subject));
    case Alarm::kRetry:
      return ledger.RetryNow(state.runs.Find(key.subject));
  }
}

void Cluster::Impl::HandOnReturnedDevices(Turn& turn) {
  for (Node* node : std::exchange(state.devices_returned, {})) {
    owners.DevicesReturned(turn, node);
    power.DevicesReturned(turn, node);
  }
}

absl::StatusOr<Node*> Cluster::Impl::FindNode(const std::string& name) {
  Node* node = state.nodes.Find(name);
  if (node == nullptr) return state.nodes.Unknown(name);
  return node;
}

absl::StatusOr<Run*> Cluster::Impl::FindRun(RunId id) {
  Run* run = state.runs.Find(id);
  if (run != nullptr) return run;
  const bool known = state.runs.Known(id);
  return absl::NotFoundError(
      absl::StrCat(known ? "run " : "no run ", id, known ? " is over already" : ""));
}

}  // namespace hpc::coordinator
