#include "tests/sim/machines/coordinator.h"

#include <algorithm>

#include "common/status_macros.h"

namespace hpc::sim {

namespace co = hpc::coordinator;

namespace {

// The clock of a PC, which differs from the coordinator's.
absl::Duration OnClockOfPc(MonoTime at) { return at.since_zero + absl::Hours(5); }

}  // namespace

Coordinator::Coordinator(Context* context, Disk* disk, Callbacks callbacks)
    : context_(context),
      disk_(disk),
      callbacks_(std::move(callbacks)),
      gate_(&context->agenda, &context->random),
      cluster_(context->options.cluster, disk->Load(), context->agenda.clock(), &PastRun, this) {}

void Coordinator::Start() {
  context_->trace.Note("coordinator starts");
  FlushSoon();
}

void Coordinator::Do(std::function<void()> what) {
  gate_.Run([self = shared_from_this(), what = std::move(what)] {
    if (!self->dead_) what();
  });
}

void Coordinator::Kill() {
  dead_ = true;
  gate_.Drop();
}

std::optional<co::RunState> Coordinator::PastRun(void* context, RunId run) {
  auto* self = static_cast<Coordinator*>(context);
  const auto& changes = self->effects_.changes;
  for (auto it = changes.rbegin(); it != changes.rend(); ++it) {
    const auto* record = std::get_if<co::RunRecord>(&*it);
    if (record != nullptr && record->id == run) return record->state;
  }
  const co::RunRecord* record = self->disk_->Run(run);
  if (record == nullptr) return std::nullopt;
  return record->state;
}

// ------------------------------------------------------------------------------------- clients

void Coordinator::Answer(absl::Status status, std::function<void(absl::Status)> done) {
  if (context_->Bugged(Bug::kAnswerBeforeCommit)) {
    done(status);
  } else {
    answers_.push_back(
        [done, status](const absl::Status& commit) { done(commit.ok() ? status : commit); });
  }
  FlushSoon();
}

void Coordinator::Submit(const std::string& request_id, const co::RunRequest& request,
                         std::function<void(absl::StatusOr<RunId>)> done) {
  Do([this, request_id, request, done] {
    absl::StatusOr<RunId> run = absl::NotFoundError("");
    for (const auto& [id, pending] : new_requests_) {
      if (id == request_id) run = pending;
    }
    if (const auto stored = disk_->FindRequest(request_id)) run = *stored;
    if (!run.ok()) {
      run = cluster_.Submit(now(), request, &effects_);
      if (run.ok()) new_requests_.emplace_back(request_id, *run);
    }
    Answer(run.status(),
           [done, run](const absl::Status& status) { status.ok() ? done(run) : done(status); });
  });
}

// --------------------------------------------------------------------------------------- nodes

void Coordinator::OnMessage(const std::shared_ptr<Stream>& from, const Up& message, MonoTime said) {
  Do([this, from, message, said] {
    if (!from->open_at_coordinator()) return;  // a newer stream has replaced it
    const absl::Status status = Take(from, message, said);
    if (!status.ok()) {
      Disconnect(from, /*reset=*/false);
      from->CloseByCoordinator(status);
    }
    const bool heartbeat = std::holds_alternative<Heartbeat>(message);
    if (!heartbeat || !context_->Bugged(Bug::kNoTimers)) FlushSoon();
  });
}

void Coordinator::OnEndOfInput(const std::shared_ptr<Stream>& from) {
  Do([this, from] {
    Disconnect(from, /*reset=*/true);
    from->CloseByCoordinator(absl::OkStatus());
    FlushSoon();
  });
}

void Coordinator::Disconnect(const std::shared_ptr<Stream>& stream, bool reset) {
  const auto found = sessions_.find(stream);
  if (found == sessions_.end()) return;
  const Session session = found->second;
  sessions_.erase(found);
  const auto link = links_.find(session.node);
  if (link != links_.end() && link->second.incarnation == session.incarnation) links_.erase(link);
  cluster_.Disconnected(now(), session, reset, &effects_);
}

absl::Status Coordinator::Take(const std::shared_ptr<Stream>& from, const Up& message,
                               MonoTime said) {
  if (const auto* hello = std::get_if<protocol::Hello>(&message)) {
    protocol::Hello dated = *hello;
    if (context_->Bugged(Bug::kLateHello)) said = said + context_->random.Unit() * absl::Seconds(1);
    if (!context_->Bugged(Bug::kNoNodeClock)) dated.said = OnClockOfPc(said);
    return OnHello(from, dated);
  }
  const auto found = sessions_.find(from);
  if (found == sessions_.end()) return absl::InvalidArgumentError("no hello");
  const Session session = found->second;
  co::NodeTimes times{OnClockOfPc(said)};
  if (const auto* heartbeat = std::get_if<Heartbeat>(&message)) {
    times.heartbeat = true;
    if (heartbeat->heard != MonoTime{}) {
      times.heard_beat = OnClockOfPc(heartbeat->heard);
      times.heard_at = OnClockOfPc(heartbeat->heard_at);
    }
  }
  if (!context_->Bugged(Bug::kNoNodeClock)) {
    cluster_.NoteTimes(now(), session, times);
  }
  if (const auto* heartbeat = std::get_if<Heartbeat>(&message)) {
    HPC_RETURN_IF_ERROR(Alive(session));
    std::optional<MonoTime>& owed = links_.at(session.node).owed;
    owed = heartbeat->answer_may_wait ? std::optional(heartbeat->sent) : std::nullopt;
    if (!owed) from->Send(protocol::Heard{heartbeat->sent});
    return absl::OkStatus();
  }
  return OnReport(session, std::get<protocol::WorkerMessage>(message));
}

absl::Status Coordinator::OnHello(const std::shared_ptr<Stream>& from,
                                  const protocol::Hello& hello) {
  HPC_ASSIGN_OR_RETURN(const protocol::Welcome welcome, cluster_.Hello(now(), hello, &effects_));
  const Entry old = std::exchange(links_[hello.node], {hello.incarnation, from, std::nullopt});
  if (old.stream != nullptr) {
    sessions_.erase(old.stream);
    old.stream->CloseByCoordinator(absl::AbortedError("a newer connection"));
  }
  sessions_[from] = {hello.node, hello.incarnation};
  answers_.push_back([this, from, node = hello.node, welcome](const absl::Status& commit) {
    const auto link = links_.find(node);
    if (!commit.ok() || link == links_.end() || link->second.stream != from) return;
    from->Send(welcome);
  });
  return absl::OkStatus();
}

absl::Status Coordinator::Alive(const Session& session) {
  const auto link = links_.find(session.node);
  if (link == links_.end() || link->second.incarnation != session.incarnation) {
    return absl::FailedPreconditionError("not connected as this incarnation");
  }
  return cluster_.Heard(now(), session);
}

AttemptRef Coordinator::Claimed(AttemptRef ref) const {
  const auto run = cluster_.FindRun(ref.run);
  if (context_->options.bug != Bug::kStaleAnswer || !run) return ref;
  return {ref.run, run->attempts};
}

absl::Status Coordinator::OnReport(const Session& session, protocol::WorkerMessage message) {
  HPC_RETURN_IF_ERROR(Alive(session));
  if (auto* ended = std::get_if<protocol::RankEnded>(&message)) {
    if (context_->Bugged(Bug::kExitBeforeStop)) ended->exit.after_stop = false;
  }
  const bool halted = std::holds_alternative<protocol::AttemptHalted>(message);
  if (halted && context_->Bugged(Bug::kForgetHalt)) return absl::OkStatus();
  if (auto* returned = std::get_if<protocol::AttemptReturned>(&message)) {
    returned->ref = Claimed(returned->ref);
    if (context_->Bugged(Bug::kForgetHalt)) returned->halt = {};
  }
  const auto* metrics = std::get_if<protocol::MetricData>(&message);
  if (metrics && metrics->checkpoint_saved) {
    return Apply(session, protocol::CheckpointSaved{metrics->ref});
  }
  return std::visit(
      [&](const auto& said) {
        if constexpr (std::is_convertible_v<decltype(said), protocol::NodeReport>) {
          return Apply(session, said);
        }
        return absl::OkStatus();  // output, which the simulation does not store
      },
      message);
}

absl::Status Coordinator::Apply(const Session& session, const protocol::NodeReport& report) {
  return cluster_.Apply(now(), session, report, &effects_);
}

// --------------------------------------------------------------------------------------- rounds

void Coordinator::FlushSoon() {
  if (std::exchange(flushing_soon_, true)) return;
  // Whatever else is in the queue by then shares the commit.
  const absl::Duration round = context_->random.Between({}, absl::Milliseconds(3));
  context_->agenda.AfterFor(shared_from_this(), round, [this] { Do([this] { Flush(); }); });
}

void Coordinator::SetTimer() {
  const MonoTime next = cluster_.NextDeadline();
  const uint64_t timer = ++timer_;
  if (next == MonoTime::Infinite() || context_->options.bug == Bug::kNoTimers) return;
  context_->agenda.AfterFor(shared_from_this(), next - context_->now(), [this, timer] {
    if (timer == timer_) Do([this] { Flush(); });
  });
}

void Coordinator::Flush() {
  flushing_soon_ = false;
  if (dead_) return;
  cluster_.Tick(now(), &effects_);
  const co::Effects effects = std::exchange(effects_, {});
  const auto answers = std::exchange(answers_, {});
  if (context_->Bugged(Bug::kSendBeforeCommit)) SendMessages(effects);
  if (Dies(CrashPoint::kBeforeCommit)) return;
  const Disk::Batch batch{effects.changes, std::exchange(new_requests_, {})};
  absl::Status status = batch.changes.empty() ? absl::OkStatus() : disk_->Commit(batch);
  if (context_->Bugged(Bug::kIgnoreCommitError)) status = absl::OkStatus();
  if (Dies(CrashPoint::kAfterCommit)) return;
  for (const auto& answer : answers) answer(status);
  // It can promise nothing more. So it ends, and is started again.
  if (!status.ok()) return Die();
  Publish(effects);
  if (!dead_) SetTimer();
}

void Coordinator::Publish(const co::Effects& effects) {
  if (context_->options.bug != Bug::kSendBeforeCommit) SendMessages(effects);
  for (const co::WakeNode& wake : effects.wakes) callbacks_.wake(wake);
}

void Coordinator::SendMessages(const co::Effects& effects) {
  for (const co::NodeMessage& message : effects.messages) {
    if (context_->random.Chance(0.3) && Dies(CrashPoint::kBetweenMessages)) return;
    SendCommand(message);
  }
}

void Coordinator::SendCommand(const co::NodeMessage& message) {
  const auto link = links_.find(message.node);
  if (link == links_.end()) return;
  Stream& stream = *link->second.stream;
  disk_->CheckTold(message.command);
  if (const auto owed = std::exchange(link->second.owed, std::nullopt)) {
    stream.Send(protocol::Heard{*owed});
  }
  if (const auto* prepare = std::get_if<protocol::Prepare>(&message.command)) {
    if (!cluster_.FindRun(prepare->ref.run)) return;  // the run ended in this very batch
    protocol::Prepare told = *prepare;
    if (context_->Bugged(Bug::kWrongWorldSize) && told.node_rank > 0) ++told.world_size;
    if (context_->Bugged(Bug::kWrongRank)) told.first_rank = 0;
    return stream.Send(told);
  }
  if (std::holds_alternative<protocol::Stop>(message.command) &&
      context_->Bugged(Bug::kLoseStop, 0.1)) {
    return;
  }
  stream.Send(message.command);
}

bool Coordinator::Dies(CrashPoint point) {
  if (crash_point_ != point) return false;
  Die();
  return true;
}

void Coordinator::Die() {
  if (std::exchange(dead_, true)) return;
  gate_.Drop();
  callbacks_.died();
}

}  // namespace hpc::sim
