#include "coordinator/runtime/engine.h"

#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "common/status_macros.h"
#include "coordinator/runtime/engine_impl.h"

namespace hpc::coordinator {
namespace {

// Each read is a page at most, so that a few threads suffice for many clients. With more than one,
// a long read holds up no short one.
constexpr size_t kReadThreads = 3;

}  // namespace

Engine::Engine(const ClusterOptions& options, const Snapshot& snapshot, const Clock* clock,
               Store* store, LogStore* logs, SecretVault* secrets, WakeSender* wake_sender)
    : impl_(std::make_unique<Impl>(options, snapshot, clock, store, logs, secrets, wake_sender)) {}

Engine::~Engine() = default;

Now Engine::now() const { return impl_->clock->Get(); }
const Cluster& Engine::cluster() const { return impl_->cluster; }
LogStore& Engine::logs() { return *impl_->logs; }
bool Engine::OutputComplete(RunId run) const { return impl_->output.Complete(run); }

void Engine::WatchRun(RunId run, Watcher* watcher) { impl_->watchers.WatchRun(run, watcher); }
void Engine::WatchEvents(Watcher* watcher) { impl_->watchers.WatchEvents(watcher); }
void Engine::Unwatch(Watcher* watcher) { impl_->watchers.Unwatch(watcher); }

void Engine::Shutdown(const absl::Status& reason) {
  impl_->cluster.SaveSeen(impl_->clock->Get(), &impl_->effects);
  AfterCommit([] {});  // so that nothing waits any more
  impl_->links.CloseAll(reason);
}

// ---- clients

std::optional<RunState> Engine::Impl::LookUpPastRun(void* context, RunId run) {
  auto* self = static_cast<Impl*>(context);
  // The run may have ended in this very batch, of which the store knows nothing yet.
  for (auto it = self->effects.changes.rbegin(); it != self->effects.changes.rend(); ++it) {
    const auto* record = std::get_if<RunRecord>(&*it);
    if (record != nullptr && record->id == run) return record->state;
  }
  const absl::StatusOr<RunRecord> record = self->store->GetRunRecord(run);
  if (!record.ok()) return std::nullopt;
  return record->state;
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
    RunProgram stored = program;
    if (const absl::Status hidden = impl_->secrets->Hide(*run, &stored); !hidden.ok()) {
      impl_->Fail(hidden);
    }
    impl_->programs.Put(*run, std::make_shared<RunProgram>(stored));
    impl_->new_programs.emplace_back(*run, std::move(stored));
  }
  answer(std::move(run));
}

namespace {

// Makes the answer to a client: if the commit succeeds it is `answer`, a status or a value.
template <typename Answer>
std::function<void(const absl::Status&)> AnswerWith(std::function<void(Answer)> done,
                                                    Answer answer) {
  return [done = std::move(done), answer = std::move(answer)](const absl::Status& commit) {
    done(commit.ok() ? answer : Answer(commit));
  };
}

}  // namespace

void Engine::Cancel(RunId run, const Cancellation& cancellation,
                    std::function<void(absl::Status)> done) {
  absl::Status status =
      impl_->cluster.Cancel(impl_->clock->Get(), run, cancellation, &impl_->effects);
  impl_->answers.push_back(AnswerWith(std::move(done), std::move(status)));
}

void Engine::ChangeRun(RunId run, const RunChange& change,
                       std::function<void(absl::StatusOr<std::string>)> done) {
  absl::StatusOr<std::string> changed =
      impl_->cluster.ChangeRun(impl_->clock->Get(), run, change, &impl_->effects);
  impl_->answers.push_back(AnswerWith(std::move(done), std::move(changed)));
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
                   std::function<void(absl::StatusOr<SleepAnswer>)> done) {
  absl::StatusOr<SleepAnswer> answer =
      impl_->cluster.Sleep(impl_->clock->Get(), node, who, &impl_->effects);
  impl_->answers.push_back(AnswerWith(std::move(done), std::move(answer)));
}

void Engine::Wake(const std::string& node, const std::string& who,
                  std::function<void(absl::Status)> done) {
  absl::Status status = impl_->cluster.Wake(impl_->clock->Get(), node, who, &impl_->effects);
  impl_->answers.push_back(AnswerWith(std::move(done), std::move(status)));
}

void Engine::Forget(const std::string& node, const std::string& who,
                    std::function<void(absl::Status)> done) {
  absl::Status status = impl_->cluster.Forget(impl_->clock->Get(), node, who, &impl_->effects);
  impl_->answers.push_back(AnswerWith(std::move(done), std::move(status)));
}

void Engine::ShutOut(const std::string& node, const std::string& why) {
  impl_->cluster.ShutOut(impl_->clock->Get(), node, why, &impl_->effects);
}

void Engine::RecordTrust(std::vector<TrustRecord> records, const ClusterNote& note,
                         std::function<void(absl::Status)> done) {
  impl_->trust.insert(impl_->trust.end(), records.begin(), records.end());
  Note(note);
  impl_->answers.push_back(std::move(done));
}

void Engine::Note(const ClusterNote& note) {
  impl_->cluster.Note(impl_->clock->Get(), note.kind, note.text, note.severity, &impl_->effects);
}

void Engine::AfterCommit(std::function<void()> done) {
  impl_->answers.push_back([done = std::move(done)](const absl::Status&) { done(); });
}

// ---- reading

absl::Status Engine::BeginReads(ReadPool::Post post) {
  std::vector<std::unique_ptr<StoreReader>> readers(kReadThreads);
  for (std::unique_ptr<StoreReader>& reader : readers) {
    HPC_ASSIGN_OR_RETURN(reader, impl_->store->OpenReader());
  }
  impl_->reads.emplace(std::move(readers), std::move(post));
  return absl::OkStatus();
}

void Engine::EndReads(const absl::Status& why) {
  if (impl_->reads) impl_->reads->Stop(why);
}

bool Engine::reading() const { return impl_->awaited_reads > 0; }

void Engine::StartRead(ReadPool::Read read, ReadPool::Done done) {
  ++impl_->awaited_reads;
  auto end = [impl = impl_.get(), done = std::move(done)](const absl::Status& status) {
    --impl->awaited_reads;
    done(status);
  };
  auto begin = [impl = impl_.get(), read = std::move(read),
                end = std::move(end)](const absl::Status& written) mutable {
    if (!written.ok()) return end(written);
    impl->reads->Start(std::move(read), std::move(end));
  };
  if (impl_->Unwritten()) {
    impl_->answers.push_back(std::move(begin));
  } else {
    begin(absl::OkStatus());
  }
}

}  // namespace hpc::coordinator
