#include "tests/sim/machines/translate.h"

#include <algorithm>
#include <type_traits>

namespace hpc::sim {
namespace {

namespace co = hpc::coordinator;

absl::Duration Millis(absl::Duration d) { return absl::Milliseconds(absl::ToInt64Milliseconds(d)); }

absl::Duration Micros(absl::Duration d) { return absl::Microseconds(absl::ToInt64Microseconds(d)); }

// On the wire 0 means "no limit", so the smallest limit is a millisecond.
std::optional<absl::Duration> Limit(const std::optional<absl::Duration>& d) {
  if (!d) return std::nullopt;
  return std::max(absl::Milliseconds(1), Millis(*d));
}

co::HeldAttempt ToCoordinator(const protocol::HeldAttempt& held) {
  co::HeldAttempt out;
  out.ref = held.ref;
  out.started = held.started;
  out.returned = held.returned;
  out.halt = sim::ToCoordinator(held.halt);
  out.store_lost = held.store_lost;
  out.witnessed = held.witnessed;
  for (const protocol::HeldRank& rank : held.ranks) {
    co::HeldAttempt::Rank& r = out.ranks.emplace_back();
    r.rank = rank.rank;
    r.pid = rank.pid;
    if (rank.exit) r.exit = sim::ToCoordinator(*rank.exit);
    r.ago = sim::ToCoordinator(rank.ago);
  }
  return out;
}

}  // namespace

protocol::CoordinatorMessage ToWorker(const co::Welcome& w) {
  return protocol::Welcome{Millis(w.lease), Millis(w.heartbeat_interval),
                           Millis(w.stop_after_disconnect), Millis(w.contact_limit),
                           Millis(w.vouch_limit)};
}

protocol::CoordinatorMessage ToWorker(const co::NodeCommand& command) {
  return std::visit(
      [](const auto& c) -> protocol::CoordinatorMessage {
        using T = std::decay_t<decltype(c)>;
        if constexpr (std::is_same_v<T, co::StartAttempt>) {
          return protocol::Start{c.ref, c.master_addr, c.master_port,
                                 static_cast<protocol::StoreHost>(c.store_host), c.witnessed};
        } else if constexpr (std::is_same_v<T, co::DoubtAttempt>) {
          return protocol::Doubt{c.ref, Millis(c.span),
                                 absl::ToInt64Microseconds(c.asked.since_zero)};
        } else if constexpr (std::is_same_v<T, co::RecallRanks>) {
          return protocol::Recall{c.ref,
                                  c.node,
                                  c.address,
                                  {c.access.port, c.access.key, c.access.proof},
                                  Millis(c.grace)};
        } else if constexpr (std::is_same_v<T, co::StopAttempt>) {
          return protocol::Stop{c.ref, Millis(c.grace), c.reason};
        } else if constexpr (std::is_same_v<T, co::ForgetAttempt>) {
          return protocol::Forget{c.ref};
        } else if constexpr (std::is_same_v<T, co::SetOwner>) {
          return protocol::SetOwner{c.reclaimed, Limit(c.time_left), c.reason};
        } else if constexpr (std::is_same_v<T, co::GoToSleep>) {
          return protocol::GoToSleep{c.reason};
        } else {
          return protocol::Prepare{};
        }
      },
      command);
}

protocol::CoordinatorMessage ToWorker(const co::PrepareAttempt& p, const co::RunRecord& run) {
  protocol::Prepare out;
  out.ref = p.ref;
  out.node_rank = p.node_rank;
  out.devices = p.devices;
  out.first_rank = p.first_rank;
  out.ranks = p.ranks;
  out.world_size = p.world_size;
  for (const co::Peer& peer : p.peers) {
    out.peers.push_back({peer.node, peer.address, peer.first_rank, peer.ranks});
  }
  out.mode = static_cast<protocol::LaunchMode>(p.mode);
  out.store_host = static_cast<protocol::StoreHost>(p.store_host);
  out.restart_count = p.restart_count;
  out.max_restarts = p.max_restarts;
  out.stop_grace = Millis(p.stop_grace);
  out.run_name = run.request.name;
  out.experiment = run.request.experiment;
  out.user = run.request.user;
  return out;
}

void ToCoordinator(const protocol::Hello& hello, co::NodeHello* out) {
  out->resumed = hello.resumed;
  out->owner_changed = hello.owner_changed;
  out->reclaimed = hello.reclaimed;
  if (hello.reclaimed) out->reclaim_time_left = Limit(hello.reclaim_left);
  out->reclaim_reason = hello.reclaim_reason;
  for (const protocol::HeldAttempt& held : hello.attempts)
    out->attempts.push_back(ToCoordinator(held));
}

co::RankExit ToCoordinator(const protocol::RankExit& e) {
  return {e.exit_code, e.signal, e.after_stop, e.message, e.traceback};
}

co::Halt ToCoordinator(const protocol::Halt& halt) {
  return {static_cast<co::HaltKind>(halt.kind), halt.reason, Micros(halt.ago), Micros(halt.within)};
}

co::RankAges ToCoordinator(const protocol::RankAges& ages) {
  return {Micros(ages.started), Micros(ages.ended), Micros(ages.ended_within)};
}

co::PreparedReport ToCoordinator(const protocol::Prepared& p) {
  return {p.ref,        p.status,          p.store_addr,
          p.store_port, p.store_client_ok, {p.recall.port, p.recall.key, p.recall.proof}};
}

co::ReclaimRequest ToCoordinator(const protocol::OwnerChanged& change) {
  co::ReclaimRequest out;
  out.duration = Limit(change.duration);
  out.reason = change.reason;
  out.who = "its owner, on the PC itself";
  if (change.grace > absl::ZeroDuration()) out.grace = Millis(change.grace);
  return out;
}

std::vector<co::StartedRank> ToCoordinator(const protocol::Started& started) {
  std::vector<co::StartedRank> out;
  for (const protocol::HeldRank& rank : started.ranks) {
    out.push_back({rank.rank, rank.pid, Micros(rank.ago.started)});
  }
  return out;
}

}  // namespace hpc::sim
