#include "coordinator/core/acts/waiting_words.h"
#include "coordinator/core/cluster.h"
#include "coordinator/core/cluster_impl.h"
#include "coordinator/core/gangs/rendezvous.h"
#include "coordinator/core/policy/node_words.h"
#include "coordinator/core/values/reports.h"

namespace hpc::coordinator {

const ClusterOptions& Cluster::options() const { return impl_->state.options; }

std::optional<RunRecord> Cluster::FindRun(RunId id) const {
  const Run* run = impl_->state.runs.Find(id);
  if (run == nullptr) return std::nullopt;
  return run->record;
}

const RunRecord* Cluster::NewestRunBelow(RunId before) const {
  const Run* run = impl_->state.runs.NewestBelow(before);
  return run == nullptr ? nullptr : &run->record;
}

RunWait Cluster::Waiting(Now now, RunId id) const {
  const Run* run = impl_->state.runs.Find(id);
  if (run == nullptr) return {};
  return WaitOf(impl_->state, now, *run, impl_->scheduler.holder());
}

absl::Status Cluster::CheckNode(const std::string& name) const {
  return impl_->FindNode(name).status();
}

std::vector<std::string> Cluster::NodeNames() const { return impl_->state.nodes.Names(); }

std::vector<Cluster::NodeView> Cluster::Nodes(Now now) const {
  std::vector<NodeView> views;
  views.reserve(impl_->state.nodes.size());
  for (const auto& [name, node] : impl_->state.nodes.by_name()) {
    NodeView& view = views.emplace_back();
    view.record = node->record;
    view.link = node->lost() ? Link::kLost : node->seen() ? Link::kConnected : Link::kNever;
    view.state = NodeStateWord(*node);
    view.reason = NodeReason(*node, now);
    for (const Holding& holding : node->holdings) view.attempts.push_back(holding.ref);
    if (node->ReadyForWork() || node->Wakeable()) view.free_devices = node->FreeDevices();
  }
  return views;
}

Cluster::Totals Cluster::GetTotals() const {
  Totals totals;
  const State& state = impl_->state;
  for (const auto& [name, node] : state.nodes.by_name()) {
    if (node->ShutOut()) continue;
    ++totals.nodes;
    totals.devices += static_cast<int32_t>(node->record.inventory.devices.size());
    if (node->connected()) ++totals.nodes_connected;
    if (node->ReadyForWork()) {
      totals.devices_free += static_cast<int32_t>(node->FreeDevices().size());
    }
  }
  totals.queued = state.runs.Count(RunState::kQueued);
  totals.running = state.runs.Count(RunState::kStarting) + state.runs.Count(RunState::kRunning) +
                   state.runs.Count(RunState::kStopping);
  totals.stale_refused = state.stale_refused;
  return totals;
}

std::string Cluster::RendezvousState(Now now, RunId id) const {
  const Run* run = impl_->state.runs.Find(id);
  if (run == nullptr || run->attempt == nullptr) return "";
  return RendezvousWords(*run->attempt, now.mono);
}

}  // namespace hpc::coordinator
