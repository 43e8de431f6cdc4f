#include "coordinator/runtime/engine.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "common/log.h"
#include "common/status_macros.h"
#include "coordinator/runtime/log_intake.h"
#include "coordinator/runtime/metric_intake.h"
#include "coordinator/runtime/node_links.h"
#include "coordinator/runtime/output_tracker.h"
#include "coordinator/runtime/program_cache.h"
#include "coordinator/runtime/watchers.h"

namespace hpc::coordinator {
namespace {

constexpr absl::Duration kOutputInterval = absl::Milliseconds(50);
constexpr absl::Duration kProgressInterval = absl::Milliseconds(500);
constexpr size_t kProgramCacheBytes = 16 << 20;

constexpr MonoTime kAtOnce{-absl::InfiniteDuration()};

}  // namespace

struct Engine::Impl {
  Impl(const ClusterOptions& options, const Snapshot& snapshot, const Clock* clock_, Store* store_,
       LogStore* logs_, WakeSender* wake_sender_)
      : clock(clock_),
        store(store_),
        logs(logs_),
        wake_sender(wake_sender_),
        log_intake(logs_),
        metric_intake(store_),
        output(store_),
        cluster(options, snapshot, clock_->Get(), &Impl::LookUpPastRun, this) {
    health = output.Restore(clock->Get().mono, snapshot);
  }

  // What may be told once a batch is durable.
  struct Outgoing {
    Effects effects;
    std::vector<std::function<void(const absl::Status&)>> answers;
    std::vector<LogReceipt> log_receipts;
    std::vector<MetricReceipt> metric_receipts;
    std::set<RunId> touched;
    bool events = false;
  };

  static PastRun LookUpPastRun(void* context, RunId run);

  // ---- nodes
  absl::Status Alive(const Session& session, Now now);
  template <typename Call>
  absl::Status Report(const Session& session, AttemptRef ref, Call call);
  absl::Status Forget(const Session& session, AttemptRef ref, const absl::Status& status);
  absl::Status SayWhereToGoOn(const NodeHello& hello);
  Inventory WithOurHook(Inventory inventory) const;
  void Fail(const absl::Status& status);

  // ---- flushing
  absl::Status FillBatch(Now now, WriteBatch* batch, Outgoing* out);
  absl::Status FlushOutput(Now now, WriteBatch* batch, Outgoing* out);
  absl::Status SealComplete(Now now, WriteBatch* batch, Outgoing* out);
  void NoteTouched(const Effects& done, Outgoing* out);
  bool OutputDue(MonoTime now) const;
  MonoTime OutputDeadline() const;
  void Publish(Now now, Outgoing* out);
  void SendCommand(const NodeMessage& message);
  void SendPrepare(NodeLink* link, const PrepareAttempt& prepare);
  void PokeProgress(Now now);

  const Clock* const clock;
  Store* const store;
  LogStore* const logs;
  WakeSender* const wake_sender;

  // Collected since the last Flush.
  Effects effects;
  std::vector<std::pair<RunId, RunProgram>> new_programs;
  std::vector<EnvironmentRecord> environments;
  absl::flat_hash_map<std::string, RunId> new_requests;  // by request id
  std::vector<std::function<void(const absl::Status&)>> answers;
  LogIntake log_intake;
  MetricIntake metric_intake;
  absl::Status health;  // once not OK, nothing more can be promised

  ProgramCache programs{kProgramCacheBytes};
  OutputTracker output;
  NodeLinks links;
  Watchers watchers;
  MonoTime last_output = kAtOnce;
  MonoTime last_progress = kAtOnce;
  bool progress_stale = false;  // something happened since last_progress

  Cluster cluster;  // last: it may ask for past runs from the start
};

// ------------------------------------------------------------------------------------- clients

PastRun Engine::Impl::LookUpPastRun(void* context, RunId run) {
  auto* self = static_cast<Impl*>(context);
  const auto past = [](RunState state) {
    return state == RunState::kSucceeded ? PastRun::kSucceeded : PastRun::kFailed;
  };
  // It may have ended in this very batch, of which the store knows nothing yet.
  for (auto it = self->effects.changes.rbegin(); it != self->effects.changes.rend(); ++it) {
    const auto* record = std::get_if<RunRecord>(&*it);
    if (record != nullptr && record->id == run) return past(record->state);
  }
  const absl::StatusOr<RunRecord> record = self->store->GetRunRecord(run);
  return record.ok() ? past(record->state) : PastRun::kUnknown;
}

void Engine::Submit(const RunRequest& request, const RunProgram& program,
                    std::function<void(absl::StatusOr<RunId>)> done) {
  const auto answer = [this, &done](absl::StatusOr<RunId> run) {
    impl_->answers.push_back(
        [done = std::move(done), run = std::move(run)](const absl::Status& commit) {
          if (commit.ok()) return done(run);
          done(commit);
        });
  };
  if (!program.request_id.empty()) {
    const auto pending = impl_->new_requests.find(program.request_id);
    if (pending != impl_->new_requests.end()) return answer(pending->second);
    absl::StatusOr<RunId> stored = impl_->store->FindRequest(program.request_id);
    if (!absl::IsNotFound(stored.status())) return answer(std::move(stored));
  }
  absl::StatusOr<RunId> run = impl_->cluster.Submit(impl_->clock->Get(), request, &impl_->effects);
  if (run.ok()) {
    if (!program.request_id.empty()) impl_->new_requests[program.request_id] = *run;
    impl_->programs.Put(*run, std::make_shared<RunProgram>(program));
    impl_->new_programs.emplace_back(*run, program);
  }
  answer(std::move(run));
}

namespace {

// An answer that is `status` if the commit succeeds.
std::function<void(const absl::Status&)> AnswerWith(std::function<void(absl::Status)> done,
                                                    absl::Status status) {
  return [done = std::move(done), status = std::move(status)](const absl::Status& commit) {
    done(commit.ok() ? status : commit);
  };
}

}  // namespace

void Engine::Cancel(RunId run, const std::string& who, std::function<void(absl::Status)> done) {
  absl::Status status = impl_->cluster.Cancel(impl_->clock->Get(), run, who, &impl_->effects);
  impl_->answers.push_back(AnswerWith(std::move(done), std::move(status)));
}

void Engine::Reclaim(const std::string& node, const ReclaimRequest& request,
                     std::function<void(absl::Status)> done) {
  absl::Status status = impl_->cluster.Reclaim(impl_->clock->Get(), node, request, &impl_->effects);
  impl_->answers.push_back(AnswerWith(std::move(done), std::move(status)));
}

void Engine::Lend(const std::string& node, const std::string& who,
                  std::function<void(absl::Status)> done) {
  absl::Status status = impl_->cluster.Lend(impl_->clock->Get(), node, who, &impl_->effects);
  impl_->answers.push_back(AnswerWith(std::move(done), std::move(status)));
}

void Engine::Sleep(const std::string& node, const std::string& who,
                   std::function<void(absl::Status)> done) {
  absl::Status status = impl_->cluster.Sleep(impl_->clock->Get(), node, who, &impl_->effects);
  impl_->answers.push_back(AnswerWith(std::move(done), std::move(status)));
}

void Engine::Wake(const std::string& node, const std::string& who,
                  std::function<void(absl::Status)> done) {
  absl::Status status = impl_->cluster.Wake(impl_->clock->Get(), node, who, &impl_->effects);
  impl_->answers.push_back(AnswerWith(std::move(done), std::move(status)));
}

void Engine::AfterCommit(std::function<void()> done) {
  impl_->answers.push_back([done = std::move(done)](const absl::Status&) { done(); });
}

// --------------------------------------------------------------------------------------- nodes

// Whatever a node says shows that it is alive. After this, a report that the core refuses is about
// an attempt that was replaced, not from a worker that was.
absl::Status Engine::Impl::Alive(const Session& session, Now now) {
  HPC_RETURN_IF_ERROR(links.Check(session));
  return cluster.Heartbeat(now, session.node, session.incarnation);
}

// The store or the disk failed: remembered, so that Flush ends the daemon.
void Engine::Impl::Fail(const absl::Status& status) {
  if (health.ok()) health = status;
}

// Turns the refusal of a stale report into an order to forget the attempt.
absl::Status Engine::Impl::Forget(const Session& session, AttemptRef ref,
                                  const absl::Status& status) {
  LogDebug("stale report refused",
           {{"node", session.node}, {"attempt", ref.ToString()}, {"reason", status.message()}});
  effects.messages.push_back({session.node, ForgetAttempt{ref}});
  return absl::OkStatus();
}

template <typename Call>
absl::Status Engine::Impl::Report(const Session& session, AttemptRef ref, Call call) {
  const Now now = clock->Get();
  HPC_RETURN_IF_ERROR(Alive(session, now));
  progress_stale = true;
  const absl::Status status = call(now);
  if (absl::IsFailedPrecondition(status)) return Forget(session, ref, status);
  return status;
}

// A hook of the coordinator's own wakes nodes that know nothing of it.
Inventory Engine::Impl::WithOurHook(Inventory inventory) const {
  inventory.can_wake_by_hook |= wake_sender->WakesAnyNode();
  return inventory;
}

absl::Status Engine::OnHello(const NodeHello& said, NodeLink* link) {
  NodeHello hello = said;
  hello.inventory = impl_->WithOurHook(said.inventory);
  HPC_ASSIGN_OR_RETURN(const Welcome welcome,
                       impl_->cluster.Hello(impl_->clock->Get(), hello, &impl_->effects));
  impl_->links.Add({hello.node, hello.incarnation}, link);
  impl_->progress_stale = true;
  impl_->answers.push_back([this, hello, link, welcome](const absl::Status& commit) {
    if (!commit.ok() || impl_->links.Find(hello.node) != link) return;
    link->SendWelcome(welcome);
    if (absl::Status status = impl_->SayWhereToGoOn(hello); !status.ok()) impl_->Fail(status);
  });
  return absl::OkStatus();
}

// One acknowledgement for each stream and each metrics file that the worker holds.
absl::Status Engine::Impl::SayWhereToGoOn(const NodeHello& hello) {
  NodeLink* link = links.Find(hello.node);
  for (const HeldAttempt& held : hello.attempts) {
    std::map<LogStreamId, int64_t> lengths;
    std::map<int32_t, int64_t> offsets;
    for (const HeldAttempt::Rank& rank : held.ranks) {
      lengths[{held.ref, rank.rank, false}] = 0;
      lengths[{held.ref, rank.rank, true}] = 0;
      offsets[rank.rank] = 0;
    }
    HPC_ASSIGN_OR_RETURN(const auto stored, logs->Lengths(held.ref));
    for (const auto& [stream, length] : stored) {
      if (lengths.contains(stream)) lengths[stream] = length;
    }
    HPC_ASSIGN_OR_RETURN(const auto known, metric_intake.Offsets(held.ref));
    for (const auto& [rank, offset] : known) {
      if (offsets.contains(rank)) offsets[rank] = offset;
    }
    for (const auto& [stream, length] : lengths) link->AckLog(stream, length);
    for (const auto& [rank, offset] : offsets) link->AckMetrics({held.ref, rank, offset});
  }
  return absl::OkStatus();
}

absl::Status Engine::OnHeartbeat(const Session& session) {
  return impl_->Alive(session, impl_->clock->Get());
}

void Engine::OnDisconnect(const Session& session, bool reset) {
  impl_->links.Remove(session);
  impl_->progress_stale = true;
  impl_->cluster.Disconnected(impl_->clock->Get(), session.node, session.incarnation, reset,
                              &impl_->effects);
}

absl::Status Engine::OnLeaving(const Session& session, const std::string& reason) {
  const Now now = impl_->clock->Get();
  HPC_RETURN_IF_ERROR(impl_->Alive(session, now));
  return impl_->cluster.Leaving(now, session.node, session.incarnation, reason, &impl_->effects);
}

absl::Status Engine::OnInventory(const Session& session, const Inventory& inventory) {
  const Now now = impl_->clock->Get();
  HPC_RETURN_IF_ERROR(impl_->Alive(session, now));
  return impl_->cluster.InventoryChanged(now, session.node, session.incarnation,
                                         impl_->WithOurHook(inventory), &impl_->effects);
}

absl::Status Engine::OnOwnerChanged(const Session& session, bool reclaimed,
                                    const ReclaimRequest& request) {
  const Now now = impl_->clock->Get();
  HPC_RETURN_IF_ERROR(impl_->Alive(session, now));
  return impl_->cluster.OwnerChanged(now, session.node, session.incarnation, reclaimed, request,
                                     &impl_->effects);
}

absl::Status Engine::OnPrepared(const Session& session, const PreparedReport& report) {
  return impl_->Report(session, report.ref, [&](Now now) {
    return impl_->cluster.Prepared(now, session.node, session.incarnation, report, &impl_->effects);
  });
}

absl::Status Engine::OnStarted(const Session& session, AttemptRef ref,
                               const std::vector<Cluster::StartedRank>& ranks) {
  return impl_->Report(session, ref, [&](Now now) {
    return impl_->cluster.Started(now, session.node, session.incarnation, ref, ranks,
                                  &impl_->effects);
  });
}

absl::Status Engine::OnRankEnded(const Session& session, AttemptRef ref, int32_t rank,
                                 const RankExit& exit, absl::Duration ended_ago) {
  return impl_->Report(session, ref, [&](Now now) {
    return impl_->cluster.RankEnded(now, session.node, session.incarnation, ref, rank, exit,
                                    ended_ago, &impl_->effects);
  });
}

absl::Status Engine::OnAttemptReturned(const Session& session, AttemptRef ref,
                                       const std::string& lost_reason) {
  return impl_->Report(session, ref, [&](Now now) {
    return impl_->cluster.AttemptReturned(now, session.node, session.incarnation, ref, lost_reason,
                                          &impl_->effects);
  });
}

absl::Status Engine::OnRendezvous(const Session& session, const RendezvousReport& report) {
  return impl_->Report(session, report.ref, [&](Now now) {
    return impl_->cluster.Rendezvous(now, session.node, session.incarnation, report,
                                     &impl_->effects);
  });
}

// Output and facts may come after the attempt has been replaced: the node only must have been part
// of it.
absl::Status Engine::OnEnvironment(const Session& session, const EnvironmentRecord& environment) {
  const Now now = impl_->clock->Get();
  HPC_RETURN_IF_ERROR(impl_->Alive(session, now));
  const absl::Status placed = impl_->output.CheckNode(now.mono, session.node, environment.ref);
  if (absl::IsNotFound(placed)) return impl_->Forget(session, environment.ref, placed);
  HPC_RETURN_IF_ERROR(placed);
  EnvironmentRecord& record = impl_->environments.emplace_back(environment);
  record.node = session.node;
  return absl::OkStatus();
}

absl::Status Engine::OnLog(const Session& session, const LogStreamId& stream, int64_t offset,
                           absl::string_view data) {
  const Now now = impl_->clock->Get();
  HPC_RETURN_IF_ERROR(impl_->Alive(session, now));
  const absl::Status placed =
      impl_->output.CheckRank(now.mono, session.node, stream.ref, stream.rank);
  if (absl::IsNotFound(placed)) return impl_->Forget(session, stream.ref, placed);
  HPC_RETURN_IF_ERROR(placed);
  const absl::Status status = impl_->log_intake.Data(session.node, stream, offset, data, now.wall);
  if (!status.ok() && !absl::IsOutOfRange(status)) impl_->Fail(status);
  return status;
}

absl::Status Engine::OnLogEnd(const Session& session, const LogStreamId& stream,
                              int64_t cut_bytes) {
  const Now now = impl_->clock->Get();
  HPC_RETURN_IF_ERROR(impl_->Alive(session, now));
  const absl::Status placed =
      impl_->output.CheckRank(now.mono, session.node, stream.ref, stream.rank);
  if (absl::IsNotFound(placed)) return impl_->Forget(session, stream.ref, placed);
  HPC_RETURN_IF_ERROR(placed);
  if (absl::Status status = impl_->log_intake.End(session.node, stream, cut_bytes); !status.ok()) {
    impl_->Fail(status);
    return status;
  }
  impl_->output.StreamEnded(stream);
  return absl::OkStatus();
}

absl::Status Engine::OnMetrics(const Session& session, const MetricOffset& offset,
                               std::vector<MetricPoint> points) {
  const Now now = impl_->clock->Get();
  HPC_RETURN_IF_ERROR(impl_->Alive(session, now));
  const absl::Status placed =
      impl_->output.CheckRank(now.mono, session.node, offset.ref, offset.rank);
  if (absl::IsNotFound(placed)) return impl_->Forget(session, offset.ref, placed);
  HPC_RETURN_IF_ERROR(placed);
  return impl_->metric_intake.Add(session.node, offset, std::move(points));
}

// ------------------------------------------------------------------------------------- flushing

MonoTime Engine::Impl::OutputDeadline() const {
  if (log_intake.urgent()) return kAtOnce;
  if (!log_intake.dirty() && !metric_intake.dirty()) return MonoTime::Infinite();
  return last_output + kOutputInterval;
}

bool Engine::Impl::OutputDue(MonoTime now) const { return OutputDeadline() <= now; }

// Logs and metrics come in a stream of small messages: they are made durable a few times a second
// rather than with each.
absl::Status Engine::Impl::FlushOutput(Now now, WriteBatch* batch, Outgoing* out) {
  last_output = now.mono;
  out->metric_receipts = metric_intake.Flush(batch);
  if (!log_intake.dirty()) return absl::OkStatus();
  HPC_ASSIGN_OR_RETURN(out->log_receipts, log_intake.Flush(batch));
  for (const LogReceipt& receipt : out->log_receipts) out->touched.insert(receipt.stream.ref.run);
  return absl::OkStatus();
}

absl::Status Engine::Impl::SealComplete(Now now, WriteBatch* batch, Outgoing* out) {
  const auto connected = [this](const std::string& node) { return links.Find(node) != nullptr; };
  for (const RunId run : output.TakeComplete(now.mono, connected)) {
    HPC_RETURN_IF_ERROR(logs->Seal(run, batch));
    metric_intake.Forget(run);
    programs.Erase(run);
    out->touched.insert(run);
  }
  return absl::OkStatus();
}

void Engine::Impl::NoteTouched(const Effects& done, Outgoing* out) {
  for (const Change& change : done.changes) {
    if (const auto* event = std::get_if<EventRecord>(&change)) {
      out->events = true;
      if (event->run != 0) out->touched.insert(event->run);
    } else if (const auto* run = std::get_if<RunRecord>(&change)) {
      out->touched.insert(run->id);
    }
  }
}

absl::Status Engine::Impl::FillBatch(Now now, WriteBatch* batch, Outgoing* out) {
  for (const Change& change : effects.changes) output.Apply(now.mono, change);
  if (OutputDue(now.mono)) HPC_RETURN_IF_ERROR(FlushOutput(now, batch, out));
  HPC_RETURN_IF_ERROR(SealComplete(now, batch, out));
  out->effects = std::exchange(effects, {});
  out->answers = std::exchange(answers, {});
  NoteTouched(out->effects, out);
  batch->changes = std::move(out->effects.changes);
  batch->programs = std::exchange(new_programs, {});
  batch->environments = std::exchange(environments, {});
  return absl::OkStatus();
}

absl::Status Engine::Flush() {
  const Now now = impl_->clock->Get();
  impl_->cluster.Tick(now, &impl_->effects);
  WriteBatch batch;
  Impl::Outgoing out;
  absl::Status status = impl_->health;
  if (status.ok()) status = impl_->FillBatch(now, &batch, &out);
  if (status.ok() && !batch.empty()) {
    status = impl_->store->Commit(batch);
    impl_->progress_stale = true;
  }
  impl_->new_requests.clear();
  if (!status.ok()) {
    impl_->health = status;
    for (const auto& answer : impl_->answers) answer(status);  // those that were not taken yet
    for (const auto& answer : out.answers) answer(status);
    impl_->answers.clear();
    return status;
  }
  impl_->Publish(now, &out);
  return impl_->health;
}

void Engine::Impl::Publish(Now now, Outgoing* out) {
  for (const auto& answer : out->answers) answer(absl::OkStatus());
  for (const LogReceipt& receipt : out->log_receipts) {
    NodeLink* link = links.Find(receipt.node);
    if (link != nullptr) link->AckLog(receipt.stream, receipt.length);
  }
  for (const MetricReceipt& receipt : out->metric_receipts) {
    NodeLink* link = links.Find(receipt.node);
    if (link != nullptr) link->AckMetrics(receipt.offset);
  }
  for (const NodeMessage& message : out->effects.messages) SendCommand(message);
  for (const WakeNode& wake : out->effects.wakes) {
    if (absl::Status status = wake_sender->Wake(wake); !status.ok()) {
      LogWarning("cannot wake node", {{"node", wake.node}, {"error", status.message()}});
    }
  }
  for (const RunId run : out->touched) watchers.PokeRun(run);
  if (out->events) watchers.PokeEvents();
  PokeProgress(now);
}

// A node that is gone gets nothing: what matters is said again when it is back, or given up by the
// core's own timeouts.
void Engine::Impl::SendCommand(const NodeMessage& message) {
  NodeLink* link = links.Find(message.node);
  if (link == nullptr) {
    LogDebug("node is not connected, message dropped", {{"node", message.node}});
  } else if (const auto* prepare = std::get_if<PrepareAttempt>(&message.command)) {
    SendPrepare(link, *prepare);
  } else {
    link->Send(message.command);
  }
}

void Engine::Impl::SendPrepare(NodeLink* link, const PrepareAttempt& prepare) {
  const RunId id = prepare.ref.run;
  std::shared_ptr<const RunProgram> program = programs.Get(id);
  if (program == nullptr) {
    absl::StatusOr<RunProgram> stored = store->GetProgram(id);
    if (!stored.ok()) return Fail(stored.status());
    program = std::make_shared<RunProgram>(std::move(*stored));
    programs.Put(id, program);
  }
  const std::optional<RunRecord> run = cluster.FindRun(id);
  if (run) link->SendPrepare(prepare, *run, *program);  // else it ended in this very batch
}

void Engine::Impl::PokeProgress(Now now) {
  if (!progress_stale || now.mono < last_progress + kProgressInterval) return;
  progress_stale = false;
  last_progress = now.mono;
  watchers.PokeProgress();
}

MonoTime Engine::NextDeadline() const {
  if (!impl_->effects.empty() || !impl_->answers.empty()) return kAtOnce;
  MonoTime next = std::min(
      {impl_->cluster.NextDeadline(), impl_->OutputDeadline(), impl_->output.NextDeadline()});
  if (impl_->progress_stale && impl_->watchers.follow_runs()) {
    next = std::min(next, impl_->last_progress + kProgressInterval);
  }
  return next;
}

// ------------------------------------------------------------------------------------ the rest

Engine::Engine(const ClusterOptions& options, const Snapshot& snapshot, const Clock* clock,
               Store* store, LogStore* logs, WakeSender* wake_sender)
    : impl_(std::make_unique<Impl>(options, snapshot, clock, store, logs, wake_sender)) {}

Engine::~Engine() = default;

Now Engine::now() const { return impl_->clock->Get(); }
const Cluster& Engine::cluster() const { return impl_->cluster; }
Store& Engine::store() { return *impl_->store; }
LogStore& Engine::logs() { return *impl_->logs; }
bool Engine::LogsComplete(RunId run) const { return impl_->output.Complete(run); }

void Engine::WatchRun(RunId run, Watcher* watcher) { impl_->watchers.WatchRun(run, watcher); }
void Engine::WatchEvents(Watcher* watcher) { impl_->watchers.WatchEvents(watcher); }
void Engine::Unwatch(Watcher* watcher) { impl_->watchers.Unwatch(watcher); }
void Engine::Shutdown(const absl::Status& reason) { impl_->links.CloseAll(reason); }

}  // namespace hpc::coordinator
