#include "coordinator/core/rendezvous.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace hpc::coordinator {

std::vector<bool> ArrivedRanks(const Attempt& attempt, const RendezvousReport& report) {
  absl::flat_hash_map<std::string, std::string> address_of;  // by node
  for (const Member& m : attempt.members) address_of[m.placement.node] = m.placement.address;
  absl::flat_hash_map<int64_t, int32_t> ranks_with_pid;
  for (const RankRecord& rank : attempt.ranks) ++ranks_with_pid[rank.pid];
  absl::flat_hash_set<int64_t> pids;
  absl::flat_hash_set<std::pair<std::string, int64_t>> peers;
  for (const RendezvousReport::Arrival& arrival : report.arrivals) {
    pids.insert(arrival.pid);
    peers.insert({arrival.address, arrival.pid});
  }
  std::vector<bool> arrived;
  arrived.reserve(attempt.ranks.size());
  for (const RankRecord& rank : attempt.ranks) {
    const bool alone = ranks_with_pid[rank.pid] == 1 && pids.contains(rank.pid);
    arrived.push_back(rank.pid != 0 &&
                      (alone || peers.contains({address_of[rank.node], rank.pid})));
  }
  return arrived;
}

std::string MissingRanks(const Attempt& attempt, const RendezvousReport& report) {
  constexpr size_t kNamed = 8;
  const std::vector<bool> arrived = ArrivedRanks(attempt, report);
  const auto here = std::count(arrived.begin(), arrived.end(), true);
  std::vector<std::string> names;
  int64_t missing = 0;
  for (size_t i = 0; i < arrived.size(); ++i) {
    if (arrived[i]) continue;
    ++missing;
    if (names.size() < kNamed) {
      names.push_back(absl::StrCat(attempt.ranks[i].rank, " (", attempt.ranks[i].node, ")"));
    }
  }
  if (missing == 0) return "";
  if (missing > static_cast<int64_t>(kNamed)) {
    names.push_back(absl::StrCat(missing - static_cast<int64_t>(kNamed), " more"));
  }
  std::string text = absl::StrCat(missing == 1 ? "rank " : "ranks ", JoinWords(names),
                                  missing == 1 ? " has" : " have", " not reached the rendezvous; ",
                                  here, " of ", arrived.size(), here == 1 ? " has" : " have");
  if (!report.blocked_key.empty()) {
    absl::StrAppend(&text, ", and ", Count(report.waiting, "connection"),
                    report.waiting == 1 ? " waits" : " wait", " for key ", report.blocked_key);
  }
  return text;
}

void NoteRendezvous(Turn& turn, Attempt* attempt, const RendezvousReport& report) {
  attempt->rendezvous = report;
  if (attempt->all_connected || attempt->record.state != AttemptState::kRunning) return;
  if (!MissingRanks(*attempt, report).empty()) return;
  attempt->all_connected = true;
  turn.Event(event::kRunConnected, About(attempt->ref()),
             absl::StrCat("all ", Count(attempt->record.world_size, "rank"),
                          " have reached the rendezvous, ",
                          HumanDuration(turn.mono() - attempt->running_since),
                          " after they were started"));
}

}  // namespace hpc::coordinator
