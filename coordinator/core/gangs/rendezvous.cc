#include "coordinator/core/gangs/rendezvous.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/text.h"
#include "protocol/worker_message.h"

namespace hpc::coordinator {
namespace {

// It is said that ranks wait for others this long after they began to.
constexpr std::array<absl::Duration, 3> kSayLate = {absl::Seconds(10), absl::Minutes(1),
                                                    absl::Minutes(10)};

// It is said once that nobody has come at all.
constexpr absl::Duration kSayNobody = absl::Seconds(30);

struct Gathering {
  std::vector<int32_t> here, missing;
  size_t others = 0;  // processes that are no rank: a program started by ranks

  // Whether some rank is surely missing: the other processes are too few to be all of `missing`.
  bool Certain() const { return missing.size() > others; }
};

Gathering GatheringOf(const Attempt& attempt) {
  Gathering gathering;
  if (!attempt.rendezvous.has_value()) return gathering;
  const std::vector<bool> arrived = ArrivedRanks(attempt, *attempt.rendezvous);
  for (size_t i = 0; i < arrived.size(); ++i) {
    (arrived[i] ? gathering.here : gathering.missing).push_back(static_cast<int32_t>(i));
  }
  const size_t came = attempt.rendezvous->arrivals.size();
  gathering.others = came - std::min(came, gathering.here.size());
  return gathering;
}

// "rank 2", or "ranks 0, 1 and 3"; only the first eight numbers are listed.
template <typename NameOf>
std::string RankList(const std::vector<int32_t>& ranks, NameOf name_of) {
  constexpr size_t kNamed = 8;
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(ranks.size(), kNamed); ++i) names.push_back(name_of(ranks[i]));
  if (ranks.size() > kNamed) names.push_back(absl::StrCat(ranks.size() - kNamed, " more"));
  return absl::StrCat(ranks.size() == 1 ? "rank " : "ranks ", JoinWords(names));
}

std::string Placed(const Attempt& attempt, int32_t rank) {
  return absl::StrCat(rank, " on ", attempt.ranks[static_cast<size_t>(rank)].node);
}

// What the first `most` of these ranks do, if it is known: "; rank 2: python3 sleeps".
std::string DoingWords(const Attempt& attempt, const std::vector<int32_t>& ranks, size_t most) {
  std::string words;
  for (size_t i = 0; i < std::min(ranks.size(), most); ++i) {
    const Member* member = attempt.FindMember(attempt.ranks[static_cast<size_t>(ranks[i])].node);
    const std::string doing = member == nullptr ? "" : member->Doing(ranks[i]);
    if (!doing.empty()) absl::StrAppend(&words, "; rank ", ranks[i], ": ", doing);
  }
  return words;
}

// Which nodes get no answer from that of rank 0, and who was not let in: "; pc2 gets no answer from
// pc1 at 10.0.0.1:41234 for 25 s: is there a firewall on pc1?"
std::string HindranceWords(const Attempt& attempt) {
  std::string words;
  const std::string& first = attempt.members.front().placement.node;
  for (const Member& m : attempt.members) {
    if (!m.silence) continue;
    const protocol::PeerSilence& one = *m.silence;
    absl::StrAppend(&words, "; ", m.placement.node,
                    one.error.empty() ? " gets no answer from " : " cannot connect to ", first,
                    " at ", one.address, ":", one.port, " for ", HumanDuration(one.lasts),
                    one.error.empty() ? "" : absl::StrCat(" (", one.error, ")"),
                    ": is there a firewall on ", first, "?");
  }
  if (!attempt.rendezvous || !attempt.rendezvous->refusal) return words;
  const protocol::RendezvousReport::Refusal& refusal = *attempt.rendezvous->refusal;
  absl::StrAppend(
      &words, "; a program of account ", refusal.account, refusal.account == 0 ? " (root)" : "",
      " on ", first, " came to the rendezvous and was refused, since ranks run as account ",
      refusal.ranks_account, ": a container joins with '--user ", refusal.ranks_account, "'");
  return words;
}

// The rank whose address a key of Gloo holds: "/default_pg/0//cpu//0/<rank>" is published by
// <rank>.
std::optional<int32_t> Publisher(const Attempt& attempt, const std::string& key) {
  if (!absl::StrContains(key, "//cpu//")) return std::nullopt;
  const std::vector<std::string> parts = absl::StrSplit(key, '/');
  int32_t rank = -1;
  if (!absl::SimpleAtoi(parts.back(), &rank) || rank < 0 || rank >= attempt.record.world_size) {
    return std::nullopt;
  }
  return rank;
}

std::string BlockedWords(const Attempt& attempt) {
  const protocol::RendezvousReport& report = *attempt.rendezvous;
  std::string words =
      absl::StrCat(Count(report.waiting, "connection"), report.waiting == 1 ? " waits" : " wait",
                   " for key ", report.blocked_key);
  if (const std::optional<int32_t> rank = Publisher(attempt, report.blocked_key)) {
    absl::StrAppend(&words, ", which rank ", Placed(attempt, *rank), " has to set");
  }
  return words;
}

std::string AllHave(const Attempt& attempt) {
  const int32_t ranks = attempt.record.world_size;
  if (ranks == 1) return "the rank has reached the rendezvous";
  return absl::StrCat("all ", ranks, " ranks have reached the rendezvous");
}

// Says which ranks came, and how many processes that ranks have started in their place.
std::string WhoCame(const Gathering& gathering) {
  const auto number = [](int32_t rank) { return absl::StrCat(rank); };
  const std::string ranks =
      gathering.here.empty() ? "" : absl::StrCat(RankList(gathering.here, number), " and ");
  const std::string others =
      gathering.others == 1 ? "1 process that a rank has started"
                            : absl::StrCat(gathering.others, " processes that ranks have started");
  const bool one = gathering.here.size() + gathering.others == 1;
  return absl::StrCat(ranks, others, one ? " has" : " have", " reached the rendezvous");
}

bool Running(const Attempt& attempt) { return attempt.record.state == AttemptState::kRunning; }

// Since when ranks have waited for others; Infinite if none is known to wait.
MonoTime WaitingSince(const Attempt& attempt) {
  const Gathering gathering = GatheringOf(attempt);
  if (!Running(attempt) || gathering.here.empty()) return MonoTime::Infinite();
  if (gathering.Certain()) return attempt.running_since;
  if (!gathering.missing.empty()) return MonoTime::Infinite();
  return attempt.rendezvous->blocked_key.empty() ? MonoTime::Infinite() : attempt.blocked_since;
}

}  // namespace

bool NobodyCame(const Attempt& attempt) {
  return attempt.record.world_size > 1 &&
         attempt.record.store_host == protocol::StoreHost::kWorker &&
         (!attempt.rendezvous || attempt.rendezvous->arrivals.empty());
}

std::vector<bool> ArrivedRanks(const Attempt& attempt, const protocol::RendezvousReport& report) {
  absl::flat_hash_map<std::string, std::string> address_of;  // by node
  for (const Member& m : attempt.members) address_of[m.placement.node] = m.placement.address;
  absl::flat_hash_map<int64_t, int32_t> ranks_with_pid;
  for (const RankRecord& rank : attempt.ranks) ++ranks_with_pid[rank.pid];
  absl::flat_hash_set<int64_t> pids;
  absl::flat_hash_set<std::pair<std::string, int64_t>> peers;
  for (const protocol::RendezvousReport::Arrival& arrival : report.arrivals) {
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

std::string WaitsForRanks(const Attempt& attempt, MonoTime now) {
  const MonoTime since = WaitingSince(attempt);
  if (since == MonoTime::Infinite()) return "";
  const Gathering gathering = GatheringOf(attempt);
  const std::string how_long = absl::StrCat(" for ", HumanDuration(now - since));
  if (gathering.missing.empty()) {
    return absl::StrCat(AllHave(attempt), ", and", how_long, " ", BlockedWords(attempt),
                        HindranceWords(attempt));
  }
  const auto number = [](int32_t rank) { return absl::StrCat(rank); };
  const auto placed = [&](int32_t rank) { return Placed(attempt, rank); };
  return absl::StrCat(
      RankList(gathering.missing, placed), gathering.missing.size() == 1 ? " has" : " have",
      " not reached the rendezvous", how_long, "; ", RankList(gathering.here, number),
      gathering.here.size() == 1 ? " waits" : " wait", HindranceWords(attempt),
      DoingWords(attempt, gathering.missing, 3));
}

std::string RendezvousWords(const Attempt& attempt, MonoTime now) {
  if (!Running(attempt)) return "";
  std::vector<int32_t> all(attempt.ranks.size());
  std::iota(all.begin(), all.end(), 0);
  const std::string doing = DoingWords(attempt, all, 16);
  const bool ours = attempt.record.store_host == protocol::StoreHost::kWorker;
  // Nothing is known of a rendezvous, or it does not matter.
  if (!ours || attempt.record.world_size == 1) return std::string(absl::StripPrefix(doing, "; "));
  std::string waits = WaitsForRanks(attempt, now);
  if (!waits.empty()) return waits;
  const Gathering gathering = GatheringOf(attempt);
  if (gathering.here.empty() && gathering.others == 0) {
    return absl::StrCat(
        "no rank has come to the rendezvous for ", HumanDuration(now - attempt.running_since),
        "; only programs that use torch.distributed do, and none that sets MASTER_ADDR or "
        "MASTER_PORT itself (leave that out: ranks have both)",
        HindranceWords(attempt));
  }
  return absl::StrCat(gathering.missing.empty() ? AllHave(attempt) : WhoCame(gathering),
                      HindranceWords(attempt),
                      doing.empty() ? "; what they do since then is not known here" : doing);
}

void NoteRendezvous(Turn& turn, State* state, Run* run, const protocol::RendezvousReport& report) {
  Attempt& attempt = *run->attempt;
  const bool same_key =
      attempt.rendezvous.has_value() && attempt.rendezvous->blocked_key == report.blocked_key;
  if (!same_key) attempt.blocked_since = turn.mono();
  attempt.rendezvous = report;
  WatchRendezvous(turn, state, run);
}

void WatchRendezvous(Turn& turn, State* state, Run* run) {
  Attempt& attempt = *run->attempt;
  if (!Running(attempt)) return;
  const MonoTime since = WaitingSince(attempt);
  const size_t told = static_cast<size_t>(attempt.late_told);
  const bool more = since < MonoTime::Infinite() && told < kSayLate.size();
  MonoTime next = more ? since + kSayLate[told] : MonoTime::Infinite();
  if (NobodyCame(attempt) && told == 0) next = attempt.running_since + kSayNobody;
  state->timers.Set(Alarm::kRendezvous, run->id(), next);
  if (attempt.all_connected || !attempt.rendezvous.has_value()) return;
  const Gathering gathering = GatheringOf(attempt);
  attempt.all_connected = !gathering.here.empty() && gathering.missing.empty();
  const bool said_perhaps = std::exchange(attempt.connected_unknown, false);
  if (!attempt.all_connected || said_perhaps) return;
  turn.Event(
      event::kRunConnected, About(attempt.ref()),
      absl::StrCat(AllHave(attempt), ", ", HumanDuration(turn.mono() - attempt.running_since),
                   " after they were started"));
}

void RendezvousLate(Turn& turn, State* state, Run* run) {
  if (run->attempt == nullptr) return;
  Attempt& attempt = *run->attempt;
  std::string waits = WaitsForRanks(attempt, turn.mono());
  const bool nobody = waits.empty() && NobodyCame(attempt);
  if (nobody) waits = RendezvousWords(attempt, turn.mono());
  if (waits.empty()) return;
  ++attempt.late_told;
  // Many programs need no rendezvous.
  turn.Event(event::kRunRendezvousLate, About(attempt.ref()), waits,
             nobody ? Severity::kInfo : Severity::kWarning);
  WatchRendezvous(turn, state, run);
}

}  // namespace hpc::coordinator
