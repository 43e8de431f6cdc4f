#include "coordinator/core/cluster.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "coordinator/core/cluster_impl.h"
#include "coordinator/core/gangs/rendezvous.h"
#include "coordinator/core/policy/node_words.h"
#include "coordinator/core/policy/request_check.h"
#include "coordinator/core/policy/run_change.h"
#include "coordinator/core/state/live_attempt.h"
#include "coordinator/core/values/cluster_options.h"
#include "coordinator/core/values/exit_codes.h"
#include "coordinator/core/values/reports.h"
#include "protocol/worker_message.h"

namespace hpc::coordinator {
namespace {

// What is not held up is on its way for less than this.
constexpr absl::Duration kOnItsWay = absl::Milliseconds(200);

}  // namespace

Cluster::Cluster(const ClusterOptions& options, const Snapshot& snapshot, Now now,
                 PastRunLookup past_run, void* past_run_context)
    : impl_(std::make_unique<Impl>(options, snapshot, now, past_run, past_run_context)) {}

Cluster::~Cluster() = default;

// ----------------------------------------------------------------------------------- clients

absl::StatusOr<RunId> Cluster::Submit(Now now, const RunRequest& request, Effects* effects) {
  Turn turn = impl_->Begin(now, effects);
  HPC_RETURN_IF_ERROR(CheckRequest(request, impl_->state.nodes));
  HPC_RETURN_IF_ERROR(impl_->ledger.CheckAfter(request.after));
  HPC_RETURN_IF_ERROR(impl_->ledger.CheckQuota(request.user));
  return impl_->ledger.Submit(turn, request);
}

absl::Status Cluster::Cancel(Now now, RunId id, const Cancellation& cancellation,
                             Effects* effects) {
  Turn turn = impl_->Begin(now, effects);
  HPC_ASSIGN_OR_RETURN(Run* const run, impl_->FindRun(id));
  if (run->record.cancel_requested) return absl::OkStatus();
  run->record.cancel_requested = true;
  run->cancel_reason = DoneBy("cancelled", cancellation.by);
  if (run->attempt == nullptr) {
    impl_->ledger.End(turn, run, RunState::kCancelled, run->cancel_reason, kExitCancelled);
    return absl::OkStatus();
  }
  if (!run->attempt->stopping()) {
    run->attempt->interrupt = cancellation.interrupt;
  } else {
    turn.Save(run->record);
    turn.Event(event::kRunStopping, About(run->attempt->ref()), run->cancel_reason);
    impl_->state.capacity_changed = true;  // it no longer keeps its place in front of others
  }
  impl_->gangs.Stop(turn, run,
                    {AttemptOutcome::kCancelled, run->cancel_reason, run->request().stop_grace});
  return absl::OkStatus();
}

absl::StatusOr<std::string> Cluster::ChangeRun(Now now, RunId id, const RunChange& change,
                                               Effects* effects) {
  Turn turn = impl_->Begin(now, effects);
  HPC_ASSIGN_OR_RETURN(Run* const run, impl_->FindRun(id));
  if (run->attempt != nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        "run ", id, " is ", Name(run->record.state),
        change.hold == false ? ": nobody holds it"
                             : ": only a run that waits in the queue can be held or changed"));
  }
  const RunRequest to = Changed(run->request(), change);
  if (ChangesNodes(run->request(), to)) {
    HPC_RETURN_IF_ERROR(CheckRequest(to, impl_->state.nodes));
  }
  return impl_->ledger.Change(turn, run, to, change);
}

void Cluster::Note(Now now, const char* kind, const std::string& text, Severity severity,
                   Effects* effects) {
  impl_->Begin(now, effects).Event(kind, Subject(), text, severity);
}

absl::Status Cluster::Reclaim(Now now, const std::string& name, const ReclaimRequest& request,
                              Effects* effects) {
  Turn turn = impl_->Begin(now, effects);
  HPC_ASSIGN_OR_RETURN(Node* const node, impl_->FindNode(name));
  impl_->owners.Reclaim(turn, node, request, /*by_node=*/std::nullopt);
  return absl::OkStatus();
}

absl::Status Cluster::Lend(Now now, const std::string& name, const std::string& who,
                           Effects* effects) {
  Turn turn = impl_->Begin(now, effects);
  HPC_ASSIGN_OR_RETURN(Node* const node, impl_->FindNode(name));
  impl_->owners.Lend(turn, node, who, /*by_node=*/false);
  return absl::OkStatus();
}

absl::StatusOr<SleepAnswer> Cluster::Sleep(Now now, const std::string& name, const std::string& who,
                                           Effects* effects) {
  Turn turn = impl_->Begin(now, effects);
  HPC_ASSIGN_OR_RETURN(Node* const node, impl_->FindNode(name));
  const bool was_on = node->record.power == Power::kOn;
  HPC_RETURN_IF_ERROR(impl_->power.Sleep(turn, node, who));
  const RunId waker = impl_->scheduler.WillWake(*node, now);
  if (waker != 0 && was_on) {
    turn.Event(event::kNodeSleep, About(name),
               absl::StrCat("run ", waker, " waits for a node like it, and will wake it"),
               Severity::kWarning);
  }
  return SleepAnswer{waker, WhyNotWoken(*node)};
}

absl::Status Cluster::Wake(Now now, const std::string& name, const std::string& who,
                           Effects* effects) {
  Turn turn = impl_->Begin(now, effects);
  HPC_ASSIGN_OR_RETURN(Node* const node, impl_->FindNode(name));
  return impl_->power.Wake(turn, node, who);
}

absl::Status Cluster::Forget(Now now, const std::string& name, const std::string& who,
                             Effects* effects) {
  Turn turn = impl_->Begin(now, effects);
  HPC_ASSIGN_OR_RETURN(Node* const node, impl_->FindNode(name));
  return impl_->removal.Forget(turn, node, who);
}

void Cluster::ShutOut(Now now, const std::string& name, const std::string& why, Effects* effects) {
  Turn turn = impl_->Begin(now, effects);
  Node* const node = impl_->state.nodes.Find(name);
  if (node != nullptr) impl_->removal.ShutOut(turn, node, why);
}

// ------------------------------------------------------------------------------------- nodes

absl::StatusOr<protocol::Welcome> Cluster::Hello(Now now, const protocol::Hello& hello,
                                                 Effects* effects) {
  Turn turn = impl_->Begin(now, effects);
  return impl_->liveness.Hello(turn, hello);
}

void Cluster::NoteTimes(Now now, const Session& session, const NodeTimes& times) {
  Node* node = impl_->state.nodes.Find(session.node);
  if (node != nullptr && node->Speaks(session)) {
    const bool compared = node->clock.bounded();
    const std::optional<Window> held_up = node->clock.held_up();
    node->clock.Take(times, now.mono);
    if (!compared && node->clock.bounded()) impl_->gangs.ClockCompared(now);
    // What waits while the coordinator itself stands still was not held up on its way.
    if (node->clock.held_up() != held_up &&
        impl_->state.pauses.WorkedAfter(node->clock.held_up()->earliest + kOnItsWay, now.mono)) {
      node->held_up = node->clock.held_up();
    }
  }
}

void Cluster::Disconnected(Now now, const Session& session, bool reset, Effects* effects) {
  Turn turn = impl_->Begin(now, effects);
  Node* node = impl_->state.nodes.Find(session.node);
  // When a stream ends that a newer one has replaced, that means nothing.
  if (node == nullptr || !node->Speaks(session)) return;
  impl_->liveness.Disconnected(turn, node, reset);
}

void Cluster::Remark(Now now, const char* kind, const std::string& node, AttemptRef ref,
                     int32_t rank, const std::string& remark, Effects* effects) {
  Turn turn = impl_->Begin(now, effects);
  Subject about = About(ref, node);
  about.rank = rank;
  turn.Event(kind, about, remark, Severity::kWarning);
}

// -------------------------------------------------------------------------------------- time

void Cluster::Tick(Now now, Effects* effects) {
  Turn turn = impl_->Begin(now, effects);
  impl_->Tick(turn, now);
}

MonoTime Cluster::NextDeadline() const {
  return impl_->resumed ? impl_->state.timers.Next() : impl_->loaded_at;
}

void Cluster::SaveSeen(Now now, Effects* effects) {
  Turn turn = impl_->Begin(now, effects);
  impl_->liveness.SaveSeen(turn);
}

}  // namespace hpc::coordinator
