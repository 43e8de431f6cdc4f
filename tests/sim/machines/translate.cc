#include "tests/sim/machines/translate.h"

#include <algorithm>
#include <type_traits>

namespace hpc::sim {
namespace {

namespace co = hpc::coordinator;
namespace wo = hpc::worker;

absl::Duration Millis(absl::Duration d) { return absl::Milliseconds(absl::ToInt64Milliseconds(d)); }

absl::Duration Micros(absl::Duration d) { return absl::Microseconds(absl::ToInt64Microseconds(d)); }

// On the wire 0 means "no limit", so the smallest limit is a millisecond.
std::optional<absl::Duration> Limit(const std::optional<absl::Duration>& d) {
  if (!d) return std::nullopt;
  return std::max(absl::Milliseconds(1), Millis(*d));
}

co::HeldAttempt ToCoordinator(const wo::HeldAttempt& held) {
  co::HeldAttempt out;
  out.ref = held.ref;
  out.started = held.started;
  out.returned = held.returned;
  out.halt = sim::ToCoordinator(held.halt);
  out.store_lost = held.store_lost;
  out.witnessed = held.witnessed;
  for (const wo::HeldRank& rank : held.ranks) {
    co::HeldAttempt::Rank& r = out.ranks.emplace_back();
    r.rank = rank.rank;
    r.pid = rank.pid;
    if (rank.exit) r.exit = sim::ToCoordinator(*rank.exit);
    r.ago = sim::ToCoordinator(rank.ago);
  }
  return out;
}

}  // namespace

wo::CoordinatorMessage ToWorker(const co::Welcome& w) {
  return wo::Welcome{Millis(w.lease), Millis(w.heartbeat_interval), Millis(w.stop_after_disconnect),
                     Millis(w.contact_limit), Millis(w.vouch_limit)};
}

wo::CoordinatorMessage ToWorker(const co::NodeCommand& command) {
  return std::visit(
      [](const auto& c) -> wo::CoordinatorMessage {
        using T = std::decay_t<decltype(c)>;
        if constexpr (std::is_same_v<T, co::StartAttempt>) {
          return wo::Start{c.ref, c.master_addr, c.master_port,
                           static_cast<wo::StoreHost>(c.store_host), c.witnessed};
        } else if constexpr (std::is_same_v<T, co::DoubtAttempt>) {
          return wo::Doubt{c.ref, Millis(c.span), absl::ToInt64Microseconds(c.asked.since_zero)};
        } else if constexpr (std::is_same_v<T, co::RecallRanks>) {
          return wo::Recall{c.ref,
                            c.node,
                            c.address,
                            {c.access.port, c.access.key, c.access.proof},
                            Millis(c.grace)};
        } else if constexpr (std::is_same_v<T, co::StopAttempt>) {
          return wo::Stop{c.ref, Millis(c.grace), c.reason};
        } else if constexpr (std::is_same_v<T, co::ForgetAttempt>) {
          return wo::Forget{c.ref};
        } else if constexpr (std::is_same_v<T, co::SetOwner>) {
          return wo::SetOwner{c.reclaimed, Limit(c.time_left), c.reason};
        } else if constexpr (std::is_same_v<T, co::GoToSleep>) {
          return wo::GoToSleep{c.reason};
        } else {
          return wo::Prepare{};
        }
      },
      command);
}

wo::CoordinatorMessage ToWorker(const co::PrepareAttempt& p, const co::RunRecord& run) {
  wo::Prepare out;
  out.ref = p.ref;
  out.node_rank = p.node_rank;
  out.devices = p.devices;
  out.first_rank = p.first_rank;
  out.ranks = p.ranks;
  out.world_size = p.world_size;
  for (const co::Peer& peer : p.peers) {
    out.peers.push_back({peer.node, peer.address, peer.first_rank, peer.ranks});
  }
  out.mode = static_cast<wo::LaunchMode>(p.mode);
  out.store_host = static_cast<wo::StoreHost>(p.store_host);
  out.restart_count = p.restart_count;
  out.max_restarts = p.max_restarts;
  out.stop_grace = Millis(p.stop_grace);
  out.run_name = run.request.name;
  out.experiment = run.request.experiment;
  out.user = run.request.user;
  return out;
}

void ToCoordinator(const wo::Hello& hello, co::NodeHello* out) {
  out->resumed = hello.resumed;
  out->owner_changed = hello.owner_changed;
  out->reclaimed = hello.reclaimed;
  if (hello.reclaimed) out->reclaim_time_left = Limit(hello.reclaim_left);
  out->reclaim_reason = hello.reclaim_reason;
  for (const wo::HeldAttempt& held : hello.attempts) out->attempts.push_back(ToCoordinator(held));
}

co::RankExit ToCoordinator(const wo::RankExit& e) {
  return {e.exit_code, e.signal, e.after_stop, e.message, e.traceback};
}

co::Halt ToCoordinator(const wo::Halt& halt) {
  return {static_cast<co::HaltKind>(halt.kind), halt.reason, Micros(halt.ago), Micros(halt.within)};
}

co::RankAges ToCoordinator(const wo::RankAges& ages) {
  return {Micros(ages.started), Micros(ages.ended), Micros(ages.ended_within)};
}

co::PreparedReport ToCoordinator(const wo::Prepared& p) {
  return {p.ref,        p.status,          p.store_addr,
          p.store_port, p.store_client_ok, {p.recall.port, p.recall.key, p.recall.proof}};
}

co::ReclaimRequest ToCoordinator(const wo::OwnerChanged& change) {
  co::ReclaimRequest out;
  out.duration = Limit(change.duration);
  out.reason = change.reason;
  out.who = "its owner, on the PC itself";
  if (change.grace > absl::ZeroDuration()) out.grace = Millis(change.grace);
  return out;
}

std::vector<co::StartedRank> ToCoordinator(const wo::Started& started) {
  std::vector<co::StartedRank> out;
  for (const wo::HeldRank& rank : started.ranks) {
    out.push_back({rank.rank, rank.pid, Micros(rank.ago.started)});
  }
  return out;
}

}  // namespace hpc::sim
