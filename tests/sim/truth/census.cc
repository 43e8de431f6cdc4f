#include "tests/sim/truth/census.h"

#include <algorithm>

namespace hpc::sim {
namespace {

// The kernel and the daemons may need this after a deadline.
constexpr absl::Duration kSlack = absl::Seconds(3);

}  // namespace

void Census::Begins(const RankProcess& process) {
  CheckGang(process);
  CheckDevices(process);
  CheckOtherAttempts(process);
  gangs_[process.ref].ranks[process.rank];
  live_[process.ref][process.rank] = {process, false};
}

void Census::CheckGang(const RankProcess& p) {
  Gang& gang = gangs_[p.ref];
  if (gang.world_size == 0) {
    gang.world_size = p.world_size;
    gang.master = p.master;
  }
  const std::string name = absl::StrCat("rank ", p.rank, " of ", p.ref.ToString(), " on ", p.node);
  if (gang.world_size != p.world_size || gang.master != p.master) {
    context_->verdict.Broken("gang-agrees", name, " has world size ", p.world_size, " and master ",
                             p.master, ", others have ", gang.world_size, " and ", gang.master);
  }
  if (p.rank < 0 || p.rank >= p.world_size) {
    context_->verdict.Broken("gang-agrees", name, " is beyond its world size ", p.world_size);
  }
  if (gang.ranks.contains(p.rank)) {
    context_->verdict.Broken("rank-once", name, " was started before");
  }
}

void Census::CheckDevices(const RankProcess& p) {
  for (const auto& [ref, ranks] : live_) {
    if (ref == p.ref) continue;
    for (const auto& [rank, other] : ranks) {
      if (other.process.node != p.node) continue;
      for (const int32_t device : p.devices) {
        const auto& theirs = other.process.devices;
        if (std::find(theirs.begin(), theirs.end(), device) == theirs.end()) continue;
        context_->verdict.Broken("device-once", "device ", device, " of ", p.node, " is used by ",
                                 p.ref.ToString(), " and ", ref.ToString());
      }
    }
  }
}

// Attempts of a run are placed one after the other. Ranks of another attempt may be alive only if
// nothing but their PC could have ended them.
void Census::CheckOtherAttempts(const RankProcess& p) {
  for (auto it = live_.lower_bound({p.ref.run, 0}); it != live_.end(); ++it) {
    const auto& [ref, ranks] = *it;
    if (ref.run != p.ref.run) break;
    if (ref == p.ref) continue;
    for (const auto& [rank, other] : ranks) {
      if (Excused(other)) continue;
      context_->verdict.Broken("one-attempt", "rank ", p.rank, " of ", p.ref.ToString(),
                               " starts on ", p.node, " while rank ", rank, " of ", ref.ToString(),
                               " lives on ", other.process.node);
    }
  }
}

// A PC that sleeps cannot end its ranks when their time is over. It ends them when it wakes.
bool Census::Excused(const Live_& old) const {
  if (old.stuck) return true;
  const auto it = awake_.find(old.process.node);
  return it != awake_.end() && context_->now() < it->second + old.process.stop_grace + kSlack;
}

void Census::Ends(AttemptRef ref, int32_t rank, const std::optional<protocol::RankExit>& exit) {
  const auto it = live_.find(ref);
  if (it == live_.end() || it->second.erase(rank) == 0) return;
  if (it->second.empty()) live_.erase(it);
  gangs_[ref].ranks[rank] = exit;
}

std::string Census::LiveOn(const std::string& node) const {
  std::string words;
  for (const auto& [ref, ranks] : live_) {
    for (const auto& [rank, one] : ranks) {
      if (one.process.node != node || one.stuck) continue;
      absl::StrAppend(&words, words.empty() ? "" : ", ", "rank ", rank, " of ", ref.ToString());
    }
  }
  return words;
}

bool Census::EverStarted(AttemptRef ref, int32_t rank) const {
  const auto it = gangs_.find(ref);
  return it != gangs_.end() && it->second.ranks.contains(rank);
}

std::optional<protocol::RankExit> Census::ExitOf(AttemptRef ref, int32_t rank) const {
  return EverStarted(ref, rank) ? gangs_.at(ref).ranks.at(rank) : std::nullopt;
}

bool Census::Live(AttemptRef ref, int32_t rank) const {
  const auto it = live_.find(ref);
  return it != live_.end() && it->second.contains(rank);
}

}  // namespace hpc::sim
