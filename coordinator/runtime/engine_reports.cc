// What connected workers say about themselves and their attempts.
#include <map>
#include <utility>
#include <variant>

#include "common/process/log.h"
#include "common/status_macros.h"
#include "coordinator/runtime/engine_impl.h"
#include "protocol/node_report.h"

namespace hpc::coordinator {

// Every report shows that its node is alive. After this, a report that the core refuses is one
// about an attempt that was replaced; it cannot be from a worker that was replaced.
absl::Status Engine::Impl::Alive(const Session& session, Now now) {
  HPC_RETURN_IF_ERROR(links.Check(session));
  return cluster.Heard(now, session);
}

// The store or the disk failed. The error is remembered, so that Flush ends the daemon.
void Engine::Impl::Fail(const absl::Status& status) {
  if (health.ok()) health = status;
}

// Without a descriptor or memory for a run's log, nothing of the output was taken. The worker that
// sent it has to connect again, and then sends it again.
void Engine::Impl::FailUnlessItPasses(const absl::Status& status) {
  if (!status.ok() && !absl::IsResourceExhausted(status)) Fail(status);
}

// Turns the refusal of a stale report into an order to forget the attempt.
absl::Status Engine::Impl::Forget(const Session& session, AttemptRef ref,
                                  const absl::Status& status) {
  LogDebug("stale report refused",
           {{"node", session.node}, {"attempt", ref.ToString()}, {"reason", status.message()}});
  effects.messages.push_back({session.node, protocol::Forget{ref}});
  return absl::OkStatus();
}

void Engine::Impl::RefusePrepare(const std::string& node, AttemptRef ref, const absl::Status& why) {
  const std::optional<Session> session = links.SessionOf(node);
  if (!session) return;
  protocol::Prepared report;
  report.ref = ref;
  report.status = why;
  const absl::Status told = cluster.Apply(clock->Get(), *session, report, &effects);
  if (!told.ok()) LogDebug("a refusal came too late", {{"attempt", ref.ToString()}});
}

// Nodes do not know of a wake hook that the coordinator itself has, so it is added here.
protocol::Inventory Engine::Impl::WithOurHook(protocol::Inventory inventory) const {
  inventory.can_wake_by_hook |= wake_sender->WakesAnyNode();
  return inventory;
}

absl::Status Engine::OnHello(const protocol::Hello& said, NodeLink* link) {
  protocol::Hello hello = said;
  hello.inventory = impl_->WithOurHook(said.inventory);
  HPC_ASSIGN_OR_RETURN(const protocol::Welcome welcome,
                       impl_->cluster.Hello(impl_->clock->Get(), hello, &impl_->effects));
  impl_->links.Add({hello.node, hello.incarnation}, link);
  impl_->progress_stale = true;
  impl_->answers.push_back([this, hello, link, welcome](const absl::Status& commit) {
    if (!commit.ok() || impl_->links.Find(hello.node) != link) return;
    link->Send(welcome);
    if (absl::Status status = impl_->SayWhereToGoOn(hello); !status.ok()) impl_->Fail(status);
  });
  return absl::OkStatus();
}

// One acknowledgement for each stream and each metrics file that the worker holds.
absl::Status Engine::Impl::SayWhereToGoOn(const protocol::Hello& hello) {
  NodeLink* link = links.Find(hello.node);
  for (const protocol::HeldAttempt& held : hello.attempts) {
    std::map<protocol::StreamId, int64_t> lengths;
    std::map<int32_t, int64_t> offsets;
    for (const protocol::HeldRank& rank : held.ranks) {
      lengths[{held.ref, rank.rank, false}] = 0;
      lengths[{held.ref, rank.rank, true}] = 0;
      offsets[rank.rank] = 0;
    }
    const auto stored = logs->Lengths(held.ref);
    if (!stored.ok()) {
      // The worker sends nothing of this attempt before it connects again; all else goes on.
      LogWarning("a run's log cannot be read",
                 {{"attempt", held.ref.ToString()}, {"reason", stored.status().message()}});
      continue;
    }
    const MonoTime now = clock->Get().mono;
    // A node is not told about output that other nodes have sent.
    const auto its_own = [&](int32_t rank) {
      return offsets.contains(rank) && output.CheckRank(now, hello.node, held.ref, rank).ok();
    };
    for (const auto& [stream, length] : *stored) {
      if (its_own(stream.rank)) lengths[stream] = length;
    }
    HPC_ASSIGN_OR_RETURN(const auto known, metric_intake.Offsets(held.ref));
    for (const auto& [rank, offset] : known) {
      if (its_own(rank)) offsets[rank] = offset;
    }
    for (const auto& [stream, length] : lengths) link->Send(protocol::LogAck{stream, length});
    for (const auto& [rank, offset] : offsets)
      link->Send(protocol::MetricAck{held.ref, rank, offset});
  }
  return absl::OkStatus();
}

void Engine::OnTimes(const Session& session, const NodeTimes& times) {
  if (!impl_->links.Check(session).ok()) return;
  impl_->cluster.NoteTimes(impl_->clock->Get(), session, times);
}

void Engine::OnDisconnect(const Session& session, bool reset) {
  impl_->links.Remove(session);
  impl_->progress_stale = true;
  impl_->cluster.Disconnected(impl_->clock->Get(), session, reset, &impl_->effects);
}

absl::Status Engine::OnReport(const Session& session, protocol::NodeReport report) {
  HPC_RETURN_IF_ERROR(impl_->links.Check(session));
  if (!std::holds_alternative<protocol::Heartbeat>(report)) impl_->progress_stale = true;
  if (auto* inventory = std::get_if<protocol::Inventory>(&report)) {
    *inventory = impl_->WithOurHook(std::move(*inventory));
  }
  return impl_->cluster.Apply(impl_->clock->Get(), session, report, &impl_->effects);
}

}  // namespace hpc::coordinator
