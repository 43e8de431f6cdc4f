#include "tests/sim/machines/adopted.h"

#include <algorithm>
#include <map>

namespace hpc::sim {

namespace wo = hpc::worker;

namespace {

wo::AdoptedAttempt FromFolder(Context* context, const Pc& pc, const Pc::Folder& folder) {
  wo::AdoptedAttempt out;
  out.ref = folder.prepare.ref;
  out.devices = folder.prepare.devices;
  out.stop_grace = folder.prepare.stop_grace;
  out.witnessed = folder.witnessed;
  out.before_boot = folder.boot_id != pc.boot_id();
  std::map<int32_t, wo::AdoptedAttempt::Rank> ranks;
  for (int32_t i = 0; i < folder.prepare.ranks; ++i) {
    const int32_t number = folder.prepare.first_rank + i;
    ranks[number].rank = number;
  }
  const auto ago = [&](const JournalEntry& entry) { return context->now() - entry.at; };
  if (folder.supervisor != nullptr) {
    for (const JournalEntry& entry : folder.supervisor->journal()) {
      if (const auto* started = std::get_if<RankStarted>(&entry.event)) {
        ranks[started->rank].pid = started->pid;
        ranks[started->rank].ago.started = ago(entry);
        out.started = true;
      } else if (const auto* exited = std::get_if<RankExited>(&entry.event)) {
        ranks[exited->rank].exit = exited->exit;
        ranks[exited->rank].ago.ended = ago(entry);
        ranks[exited->rank].ago.ended_within = entry.within;
        out.started = true;
      } else if (const auto* stop = std::get_if<StopBegan>(&entry.event)) {
        const protocol::HaltKind own = OwnReason(stop->reason);
        const protocol::HaltKind kind = own == protocol::HaltKind::kNone ? stop->halt : own;
        if (kind != protocol::HaltKind::kNone)
          out.halt = {kind, stop->reason, ago(entry), SpreadOf(stop->reason)};
      } else if (std::holds_alternative<AllGone>(entry.event)) {
        out.returned = true;
      }
    }
  }
  const bool lost = folder.supervisor == nullptr || folder.supervisor->gone();
  if (lost && out.started && !out.returned && out.halt.kind == protocol::HaltKind::kNone) {
    // It may have happened at any moment since its ranks were started.
    out.halt = {protocol::HaltKind::kSupervisorLost, "its supervisor was killed"};
    for (const auto& [number, rank] : ranks) {
      out.halt.within = std::max(out.halt.within, rank.ago.started);
    }
  }
  // Its ranks may have met in the store that died with the worker before this one.
  out.store_lost = folder.prepare.node_rank == 0 && out.started && context->random.Chance(0.5);
  for (const auto& [number, rank] : ranks) out.ranks.push_back(rank);
  return out;
}

}  // namespace

std::vector<wo::AdoptedAttempt> AdoptedFrom(Context* context, const Pc& pc) {
  std::vector<wo::AdoptedAttempt> out;
  for (const auto& [ref, folder] : pc.folders) out.push_back(FromFolder(context, pc, folder));
  return out;
}

}  // namespace hpc::sim
