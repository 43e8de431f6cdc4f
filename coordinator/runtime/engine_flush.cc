// One round: the core's decisions and all that came with them go into one transaction, and then
// everybody is told.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/process/log.h"
#include "common/status_macros.h"
#include "coordinator/runtime/engine_impl.h"

namespace hpc::coordinator {
namespace {

constexpr absl::Duration kOutputInterval = absl::Milliseconds(50);
// How long a report that nobody waits for may lie unwritten. The nodes of a gang report one after
// the other, and mostly the last report makes something worth telling, which is then committed at
// once.
constexpr absl::Duration kReportPatience = absl::Milliseconds(20);
// A full disk is tried again this often. Workers that were told to forget an attempt drop its
// output when nothing of it is acknowledged for 30 s. The daemon stops before that, which makes
// them wait.
constexpr absl::Duration kFullDiskRetry = absl::Seconds(1);
constexpr absl::Duration kFullDiskPatience = absl::Seconds(20);
constexpr absl::Duration kProgressInterval = absl::Milliseconds(500);
// The refresh interval while nothing happens: the text may contain a time that counts down.
constexpr absl::Duration kProgressRefresh = absl::Seconds(2);

}  // namespace

MonoTime Engine::Impl::OutputDeadline() const {
  if (logs_full_since) return last_output + kFullDiskRetry;
  if (log_intake.urgent() || metric_intake.urgent()) return Impl::kLongAgo;
  if (!output_since) return MonoTime::Infinite();
  return std::max(last_output + kOutputInterval, *output_since + kReportPatience);
}

bool Engine::Impl::OutputDue(MonoTime now) const { return OutputDeadline() <= now; }

// Logs and metrics come in a stream of small messages. They are made durable a few times a second
// rather than with each message.
absl::Status Engine::Impl::FlushOutput(Now now, WriteBatch* batch, Outgoing* out) {
  last_output = now.mono;
  output_since.reset();
  out->metric_receipts = metric_intake.Flush(batch);
  if (!log_intake.dirty()) return absl::OkStatus();
  const absl::Status status = FlushLogs(now, batch, out);
  return absl::IsResourceExhausted(status) ? LogsFull(now, status) : status;
}

absl::Status Engine::Impl::FlushLogs(Now now, WriteBatch* batch, Outgoing* out) {
  HPC_ASSIGN_OR_RETURN(out->log_receipts, log_intake.Flush(batch));
  for (const LogReceipt& receipt : out->log_receipts) {
    out->touched.insert(receipt.stream.ref.run);
    output.Heard(now.mono, receipt.stream.ref.run);
  }
  if (logs_full_since) LogInfo("there is space for output of ranks again");
  logs_full_since.reset();
  return absl::OkStatus();
}

// While the disk is full no output is acknowledged, so workers keep it and soon send no more; all
// else goes on. Returns an error once that has lasted too long.
absl::Status Engine::Impl::LogsFull(Now now, const absl::Status& status) {
  if (!logs_full_since) {
    logs_full_since = now.mono;
    LogWarning(
        "no space for output of ranks: it stays on their nodes; free space within 20 s, or "
        "the coordinator stops",
        {{"reason", status.message()}});
  }
  if (now.mono < *logs_full_since + kFullDiskPatience) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      status.message(), ": free space on its file system and start again; nothing is lost"));
}

absl::Status Engine::Impl::SealComplete(Now now, WriteBatch* batch, Outgoing* out) {
  if (logs_full_since) return absl::OkStatus();  // the output has arrived, but cannot be stored
  const auto connected = [this](const std::string& node) { return links.Find(node) != nullptr; };
  for (const RunId run : output.TakeComplete(now.mono, connected)) {
    const absl::Status sealed = logs->Seal(run, batch);
    if (absl::IsResourceExhausted(sealed)) {
      LogWarning("a log stays uncompressed", {{"run", run}, {"reason", sealed.message()}});
    } else {
      HPC_RETURN_IF_ERROR(sealed);
    }
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
      if (IsTerminal(run->state)) out->over.push_back(run->id);
    }
  }
}

absl::Status Engine::Impl::FillBatch(Now now, WriteBatch* batch, Outgoing* out) {
  for (const Change& change : effects.changes) output.Apply(now.mono, change);
  // Somebody may be waiting for the rest of the output of a run that is over.
  if (OutputDue(now.mono) || EndsARun() || output.NextDeadline() <= now.mono) {
    HPC_RETURN_IF_ERROR(FlushOutput(now, batch, out));
  }
  HPC_RETURN_IF_ERROR(SealComplete(now, batch, out));
  out->effects = std::exchange(effects, {});
  out->answers = std::exchange(answers, {});
  NoteTouched(out->effects, out);
  batch->changes = std::move(out->effects.changes);
  batch->programs = std::exchange(new_programs, {});
  batch->environments = std::exchange(environments, {});
  batch->trust = std::exchange(trust, {});
  return absl::OkStatus();
}

bool Engine::Impl::EndsARun() const {
  return std::any_of(effects.changes.begin(), effects.changes.end(), [](const Change& change) {
    const auto* run = std::get_if<RunRecord>(&change);
    return run != nullptr && IsTerminal(run->state);
  });
}

namespace {

bool IsOfARun(const Change& change) {
  if (const auto* event = std::get_if<EventRecord>(&change)) return event->run != 0;
  return std::holds_alternative<RunRecord>(change) ||
         std::holds_alternative<AttemptRecord>(change) ||
         std::holds_alternative<PlacementRecord>(change) ||
         std::holds_alternative<RankRecord>(change);
}

}  // namespace

// Whether the batch holds only what nodes have reported about attempts that go on. Then nobody is
// answered, sent anything or told of an end when it is written.
bool Engine::Impl::MayWait() const {
  return health.ok() && answers.empty() && effects.messages.empty() && effects.wakes.empty() &&
         new_programs.empty() && trust.empty() && !EndsARun() &&
         std::all_of(effects.changes.begin(), effects.changes.end(), &IsOfARun);
}

bool Engine::Impl::Unwritten() const { return !effects.empty() || !environments.empty(); }

// Remembers since when there has been something to write, and says whether it can wait longer.
bool Engine::Impl::WaitsOn(MonoTime now) {
  if (!Unwritten() || !MayWait() || OutputDue(now) || output.NextDeadline() <= now) {
    unwritten_since.reset();
    return false;
  }
  if (!unwritten_since) unwritten_since = now;
  if (now < *unwritten_since + kReportPatience) return true;
  unwritten_since.reset();
  return false;
}

absl::Status Engine::Flush() {
  const Now now = impl_->clock->Get();
  impl_->cluster.Tick(now, &impl_->effects);
  if (impl_->WaitsOn(now.mono)) {
    impl_->postscripts.Send(now.mono, {});
    return absl::OkStatus();
  }
  WriteBatch batch;
  Impl::Outgoing out;
  absl::Status status = impl_->health;
  if (status.ok()) status = impl_->FillBatch(now, &batch, &out);
  if (status.ok() && !batch.empty()) {
    batch.clock = impl_->clock_note.Changed(ReadClocks());
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
  std::set<std::string> told;
  Acknowledge(now, *out, &told);
  for (const RunId run : out->over) secrets->Drop(run);
  for (const NodeMessage& message : out->effects.messages) {
    if (std::holds_alternative<protocol::Forget>(message.command)) {
      postscripts.Add(now.mono, message.node,
                      [command = message.command](NodeLink* link) { link->Send(command); });
    } else {
      SendCommand(message);
      told.insert(message.node);
    }
  }
  for (const WakeNode& wake : out->effects.wakes) {
    if (absl::Status status = wake_sender->Wake(wake); !status.ok()) {
      LogWarning("cannot wake node", {{"node", wake.node}, {"error", status.message()}});
    }
  }
  for (const RunId run : out->touched) watchers.PokeRun(run);
  if (out->events) watchers.PokeEvents();
  postscripts.Send(now.mono, told);
  PokeProgress(now);
}

// A rank that still writes waits for its acknowledgement. One whose run is over does not, so its
// acknowledgement becomes a postscript.
void Engine::Impl::Acknowledge(Now now, const Outgoing& out, std::set<std::string>* told) {
  const auto say = [&](RunId run, const std::string& node, Postscripts::Say acknowledge) {
    if (!cluster.FindRun(run)) {
      return postscripts.Add(now.mono, node, std::move(acknowledge));
    }
    NodeLink* const link = links.Find(node);
    if (link == nullptr) return;
    acknowledge(link);
    told->insert(node);
  };
  for (const LogReceipt& receipt : out.log_receipts) {
    say(receipt.stream.ref.run, receipt.node, [receipt](NodeLink* link) {
      link->Send(protocol::LogAck{receipt.stream, receipt.length});
    });
  }
  for (const MetricReceipt& receipt : out.metric_receipts) {
    say(receipt.offset.ref.run, receipt.node, [offset = receipt.offset](NodeLink* link) {
      link->Send(protocol::MetricAck{offset.ref, offset.rank, offset.offset});
    });
  }
}

// A node that is not connected gets nothing. What matters is said again when it is back, or the
// core's own timeouts give it up.
void Engine::Impl::SendCommand(const NodeMessage& message) {
  NodeLink* link = links.Find(message.node);
  if (link == nullptr) {
    LogDebug("node is not connected, message dropped", {{"node", message.node}});
  } else if (const auto* prepare = std::get_if<protocol::Prepare>(&message.command)) {
    SendPrepare(message.node, link, *prepare);
  } else {
    link->Send(message.command);
  }
}

void Engine::Impl::SendPrepare(const std::string& node, NodeLink* link, protocol::Prepare prepare) {
  const RunId id = prepare.ref.run;
  std::shared_ptr<const RunProgram> program = programs.Get(id);
  if (program == nullptr) {
    absl::StatusOr<RunProgram> stored = store->GetProgram(id);
    if (!stored.ok()) return Fail(stored.status());
    program = std::make_shared<RunProgram>(std::move(*stored));
    programs.Put(id, program);
  }
  if (!cluster.FindRun(id)) return;  // the run ended in this very batch
  if (HasHiddenValues(*program)) {
    RunProgram revealed = *program;
    if (const absl::Status status = secrets->Reveal(id, &revealed); !status.ok()) {
      return RefusePrepare(node, prepare.ref, status);
    }
    program = std::make_shared<RunProgram>(std::move(revealed));
  }
  prepare.command = program->command;
  prepare.workdir = program->workdir;
  prepare.env = program->env;
  prepare.legacy_local_rank = program->legacy_local_rank;
  prepare.stop_signal = program->stop_signal;
  prepare.umask = program->umask;
  prepare.warm = program->warm;
  prepare.params = program->params;
  link->Send(std::move(prepare));
}

void Engine::Impl::PokeProgress(Now now) {
  if (now.mono < last_progress + (progress_stale ? kProgressInterval : kProgressRefresh)) return;
  progress_stale = false;
  last_progress = now.mono;
  watchers.PokeProgress();
}

MonoTime Engine::NextDeadline() const {
  const bool waits = impl_->unwritten_since && impl_->MayWait();
  if (!waits && (!impl_->effects.empty() || !impl_->answers.empty())) return Impl::kLongAgo;
  MonoTime next = std::min(impl_->cluster.NextDeadline(), impl_->OutputDeadline());
  next = std::min(next, impl_->postscripts.NextDeadline());
  if (waits) next = std::min(next, *impl_->unwritten_since + kReportPatience);
  if (!impl_->logs_full_since) next = std::min(next, impl_->output.NextDeadline());
  // While a commit waits, progress is told together with it.
  if (!waits && impl_->watchers.follow_runs()) {
    next = std::min(next, impl_->last_progress +
                              (impl_->progress_stale ? kProgressInterval : kProgressRefresh));
  }
  return next;
}

}  // namespace hpc::coordinator
