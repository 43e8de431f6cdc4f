// What nodes report: who of the core takes it.
#include <variant>

#include "common/status_macros.h"
#include "coordinator/core/cluster_impl.h"
#include "coordinator/core/gangs/rendezvous.h"

namespace hpc::coordinator {

absl::Status Cluster::Apply(Now now, const Session& session, const protocol::NodeReport& report,
                            Effects* effects) {
  Turn turn = impl_->Begin(now, effects);
  HPC_ASSIGN_OR_RETURN(Node* const node, impl_->liveness.Heard(now, session));
  std::visit([&](const auto& said) { impl_->Take(turn, node, said); }, report);
  return absl::OkStatus();
}

absl::Status Cluster::Heard(Now now, const Session& session) {
  impl_->state.pauses.AtWork(now.mono);
  return impl_->liveness.Heard(now, session).status();
}

// ---------------------------------------------------------------------------- about the node

void Cluster::Impl::Take(Turn& turn, Node* node, const protocol::Heartbeat& beat) {
  bool stops = false;
  for (const Holding& holding : node->holdings) {
    Run* run = state.runs.Find(holding.ref.run);
    if (run == nullptr || run->attempt == nullptr || run->attempt->ref() != holding.ref) continue;
    stops |= run->attempt->stopping();
    Member* member = run->attempt->FindMember(node->name());
    member->doing.clear();
    member->silence.reset();
    for (const protocol::RankDoing& one : beat.doing) {
      if (one.ref == holding.ref) member->doing.push_back(one);
    }
    for (const protocol::PeerSilence& one : beat.silences) {
      if (one.ref == holding.ref) member->silence = one;
    }
  }
  // If the node is lost later, this proves that the loss did not bring about the stop, also to a
  // coordinator that is started meanwhile.
  if (stops) turn.Save(node->record);
}

void Cluster::Impl::Take(Turn& turn, Node* node, const protocol::Inventory& inventory) {
  liveness.InventoryChanged(turn, node, inventory);
}

void Cluster::Impl::Take(Turn& turn, Node* node, const protocol::OwnerChanged& changed) {
  owners.Changed(turn, node, changed);
  owners.Answer(turn, *node);
}

void Cluster::Impl::Take(Turn& turn, Node* node, const protocol::Leaving& leaving) {
  liveness.Leaving(turn, node, leaving);
}

void Cluster::Impl::Take(Turn&, Node* node, const protocol::HandingOver&) {
  node->hands_over = true;
}

void Cluster::Impl::Take(Turn& turn, Node* node, const protocol::SleepFailed& failed) {
  power.SleepFailed(turn, node, failed.error);
}

// ------------------------------------------------------------------------- about its attempts

std::optional<LiveAttempt> Cluster::Impl::Reported(Turn& turn, Node* node, AttemptRef ref,
                                                   Stale stale) {
  const absl::StatusOr<LiveAttempt> live = FindLive(&state, *node, ref);
  if (live.ok()) return *live;
  if (stale == Stale::kIsCounted) CountStale(turn, &state, node, ref, live.status());
  turn.Tell(node->name(), protocol::Forget{ref});
  return std::nullopt;
}

void Cluster::Impl::Take(Turn& turn, Node* node, const protocol::Prepared& report) {
  const auto live = Reported(turn, node, report.ref);
  if (live) starter.Prepared(turn, live->run, live->member, report);
}

void Cluster::Impl::Take(Turn& turn, Node* node, const protocol::Started& report) {
  const auto live = Reported(turn, node, report.ref);
  if (live) starter.Started(turn, live->run, live->member, report.ranks);
}

void Cluster::Impl::Take(Turn& turn, Node* node, const protocol::RankEnded& report) {
  const auto live = Reported(turn, node, report.ref);
  if (!live) return;
  gangs.RankEnded(turn, live->run, live->member, report.rank, report.exit,
                  RankEndOf(node->clock, report.ago, turn.mono()));
}

void Cluster::Impl::Take(Turn& turn, Node* node, const protocol::AttemptHalted& report) {
  const auto live = Reported(turn, node, report.ref);
  if (!live) return;
  gangs.Halted(turn, live->run, live->member,
               gangs.verdicts().CauseOf(turn, *live->run->attempt, node->name(), report.halt));
}

void Cluster::Impl::Take(Turn& turn, Node* node, const protocol::AttemptReturned& report) {
  if (std::erase(node->orphans, report.ref) > 0) state.capacity_changed = true;
  // About an attempt that is over this is true and harmless.
  const auto live = Reported(turn, node, report.ref, Stale::kIsHarmless);
  if (!live) return;
  if (!live->member->placement.returned) live->run->attempt->killed += report.killed;
  gangs.Returned(turn, live->run, live->member,
                 gangs.verdicts().CauseOf(turn, *live->run->attempt, node->name(), report.halt));
}

void Cluster::Impl::Take(Turn& turn, Node* node, const protocol::Doubted& report) {
  const auto live = Reported(turn, node, report.ref);
  if (live) gangs.lost_nodes().Doubted(turn, live->run, live->member, report.asked);
}

void Cluster::Impl::Take(Turn& turn, Node* node, const protocol::Recalled& report) {
  // About an attempt that is over this comes late, and is harmless.
  const auto live = Reported(turn, node, report.ref, Stale::kIsHarmless);
  Member* const member = live ? live->run->attempt->FindMember(report.node) : nullptr;
  if (member == nullptr) return;
  if (report.status.ok()) {
    gangs.Recalled(turn, live->run, member, node->name());
  } else {
    // If no node can recall them, the fence decides.
    gangs.lost_nodes().NotRecalled(turn, live->run, member, node->name());
  }
}

void Cluster::Impl::Take(Turn& turn, Node* node, const protocol::RendezvousReport& report) {
  const auto live = Reported(turn, node, report.ref);
  if (live) NoteRendezvous(turn, &state, live->run, report);
}

void Cluster::Impl::Take(Turn& turn, Node*, const protocol::CheckpointSaved& saved) {
  Run* run = state.runs.Find(saved.ref.run);
  if (run == nullptr || run->attempt == nullptr || run->attempt->ref() != saved.ref) return;
  giver.AtCheckpoint(turn, run);
  grower.LookAt(turn, run, /*at_checkpoint=*/true);
}

}  // namespace hpc::coordinator
