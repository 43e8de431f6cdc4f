#include "coordinator/rpc/testing/bare_coordinator.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <set>
#include <utility>

#include "coordinator/rpc/convert/convert_worker.h"
#include "coordinator/store/sqlite_store.h"

namespace hpc::coordinator::testing {
namespace {

constexpr std::pair<pki::Role, const char*> kSecrets[] = {
    {pki::Role::kWorker, "worker secret 16"},
    {pki::Role::kUser, "person secret 16"},
    {pki::Role::kAdmin, "admins secret 16"},
};

pki::KeyringPlace KeysIn(const std::string& dir) { return {dir + "/keys", "", ""}; }

// Blocks SIGALRM until this is destroyed. A fuzzer watches the time in a handler of that signal,
// which interrupts system calls, and std::filesystem::copy takes EINTR for the end of the file.
class NoAlarm {
 public:
  NoAlarm() {
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, &before_);
  }
  ~NoAlarm() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoAlarm(const NoAlarm&) = delete;
  NoAlarm& operator=(const NoAlarm&) = delete;

 private:
  sigset_t before_;
};

// Checks that each run has one attempt at most, and that each device is in one attempt at most.
void CheckOnce(const Snapshot& snapshot) {
  std::set<RunId> live;
  for (const AttemptRecord& attempt : snapshot.attempts) {
    Check(live.insert(attempt.ref.run).second, "a run has one attempt at a time");
  }
  std::set<std::pair<std::string, int32_t>> taken;
  for (const PlacementRecord& placement : snapshot.placements) {
    for (const int32_t device : placement.devices) {
      Check(placement.returned || taken.emplace(placement.node, device).second,
            "a device is in one attempt");
    }
  }
}

}  // namespace

void Check(const absl::Status& status, const char* what) {
  if (status.ok()) return;
  std::cerr << what << ": " << status << std::endl;
  abort();
}

void Check(bool holds, const char* what) {
  if (!holds) Check(absl::InternalError("does not hold"), what);
}

// ------------------------------------------------------------------------------------- BareState

BareState::BareState() {
  Check(mkdtemp(path_.data()) != nullptr, "a folder in /dev/shm");
  const std::string dir = path_ + "/new";
  std::filesystem::create_directory(dir);
  const absl::Time now = FakeClock().Get().wall;
  Check(pki::Keyring::Create(KeysIn(dir), now).status(), "an authority");
  auto store = OpenSqliteStore(dir + "/hpc.db");
  Check(store.status(), "an empty database");
  Roster roster({});
  WriteBatch batch;
  for (const auto& [role, secret] : kSecrets) {
    auto token = roster.CreateToken(now, {role, "", 1000, kMaxTokenLifetime, "anna"}, secret);
    Check(token.status(), "a token");
    batch.trust.emplace_back(*token);
  }
  Check((*store)->Commit(batch), "the tokens");
}

BareState::~BareState() { std::filesystem::remove_all(path_); }

std::string BareState::Begin() const {
  std::filesystem::remove_all(path_ + "/state");
  const NoAlarm no_alarm;
  std::filesystem::copy(path_ + "/new", path_ + "/state", std::filesystem::copy_options::recursive);
  return path_ + "/state";
}

// ------------------------------------------------------------------------------- BareCoordinator

class BareCoordinator::Deaf final : public WakeSender {
 public:
  absl::Status Wake(const WakeNode&) override { return absl::OkStatus(); }
};

// A worker's connection. Everything it is told is converted to a message and dropped.
class BareCoordinator::Worker final : public NodeLink {
 public:
  Worker(Engine* engine, NodeUsage* usage) : session(engine, usage, this) {}
  void Send(const protocol::CoordinatorMessage& command) override { Drop(ToProto(command)); }
  void Close(const absl::Status&) override { session.Forget(); }

  WorkerSession session;

 private:
  // Text that is not UTF-8 would not get to the worker.
  static void Drop(const v1::CoordinatorMessage& message) {
    v1::CoordinatorMessage again;
    Check(again.ParseFromString(message.SerializeAsString()), "a message for a worker");
  }
};

BareCoordinator::BareCoordinator(const std::string& dir)
    : dir_(dir), wake_(std::make_unique<Deaf>()) {
  Start();
}

BareCoordinator::~BareCoordinator() { Stop(); }

void BareCoordinator::Start() {
  engine_.reset();
  trust_.reset();
  logs_.reset();
  store_.reset();
  auto store = OpenSqliteStore(dir_ + "/hpc.db");
  Check(store.status(), "the store");
  store_ = *std::move(store);
  auto logs = LogStore::Open("/logs", {.segment_bytes = 1000}, &files_);
  Check(logs.status(), "the logs");
  logs_ = *std::move(logs);
  const auto snapshot = store_->Load();
  Check(snapshot.status(), "what is stored");
  CheckOnce(*snapshot);
  auto secrets = SecretVault::Open(dir_ + "/secrets", LiveRuns(*snapshot));
  Check(secrets.status(), "the secrets");
  secrets_ = std::make_unique<SecretVault>(*std::move(secrets));
  engine_ = std::make_unique<Engine>(ClusterOptions(), *snapshot, &clock_, store_.get(),
                                     logs_.get(), secrets_.get(), wake_.get());
  Check(engine_->BeginReads(inbox_.post()), "the readers");
  auto keyring = pki::Keyring::Load(KeysIn(dir_), clock_.Get().wall);
  Check(keyring.status(), "the authority");
  const auto known = store_->LoadTrust();
  Check(known.status(), "who is trusted");
  trust_ = std::make_unique<Trust>(*std::move(keyring), *known);
  runs_ = std::make_unique<RunsHandlers>(engine_.get());
  nodes_ = std::make_unique<NodesHandlers>(engine_.get(), &usage_);
  cluster_ = std::make_unique<ClusterHandlers>(engine_.get(), dir_);
  joins_ = std::make_unique<JoinHandlers>(engine_.get(), trust_.get());
  joins_->Serve(this);
  tokens_ = std::make_unique<TokenHandlers>(
      engine_.get(), trust_.get(), std::vector{Endpoint{.host = "10.0.0.1", .port = 7077}});
  certificates_ = std::make_unique<CertificateHandlers>(engine_.get(), trust_.get());
  certificates_->Serve(this);
  for (auto& worker : workers_) worker = std::make_unique<Worker>(engine_.get(), &usage_);
  Settle();
  for (const RunRecord& run : snapshot->runs) {
    Check(engine_->cluster().FindRun(run.id).has_value() ||
              IsTerminal(store_->GetRunRecord(run.id)->state),
          "a run of the store is in the core");
  }
}

void BareCoordinator::Stop() {
  for (auto& worker : workers_) worker->session.Disconnect(false);
  Settle();
  Check(awaited_ == 0, "every request is answered");
  CheckTrust();
}

void BareCoordinator::Pass(uint64_t ms) {
  clock_.Advance(absl::Milliseconds(static_cast<int64_t>(ms % 600'000)));
  Settle();
}

void BareCoordinator::Settle() {
  Check(engine_->Flush(), "the store");
  while (engine_->reading()) {
    inbox_.TakeOne();
    Check(engine_->Flush(), "the store");
  }
  for (const RunRecord& run : Waiting()) {
    Check(!engine_->cluster().Waiting(clock_.Get(), run.id).text.empty(),
          "whatever waits has a reason");
  }
}

void BareCoordinator::Hear(size_t worker, const Caller& caller, const v1::WorkerMessage& message) {
  WorkerSession& session = workers_[worker]->session;
  if (!session.Take(caller, message).ok()) session.Disconnect(false);
  Settle();
}

void BareCoordinator::Lose(uint64_t which) {
  workers_[which % kWorkers]->session.Disconnect(which % 2 == 0);
  Settle();
}

void BareCoordinator::EndCallsOf(const std::vector<std::string>& serials, const absl::Status&) {
  for (const std::string& serial : serials) {
    Check(!trust_->roster.CheckNotRevoked(serial).ok(), "whose calls end is shut out");
  }
}

absl::Status BareCoordinator::ChangeAuthority() { return absl::OkStatus(); }

void BareCoordinator::NoteRefusal(const std::string&, const std::string& what) {
  Check(!what.empty(), "a refusal has words");
}

void BareCoordinator::CheckReadable(const google::protobuf::Message& response) {
  const std::unique_ptr<google::protobuf::Message> again(response.New());
  Check(again->ParseFromString(response.SerializeAsString()), "an answer can be read");
}

std::vector<RunRecord> BareCoordinator::Waiting() const {
  const auto snapshot = store_->Load();
  Check(snapshot.status(), "what is stored");
  CheckOnce(*snapshot);
  std::vector<RunRecord> queued;
  for (const RunRecord& run : snapshot->runs) {
    if (run.state == RunState::kQueued) queued.push_back(run);
  }
  return queued;
}

// Checks that a restarted coordinator would trust the same members as this one.
void BareCoordinator::CheckTrust() const {
  const auto stored = store_->LoadTrust();
  Check(stored.status(), "who is trusted");
  const auto tokens = trust_->roster.Tokens();
  const auto certificates = trust_->roster.Certificates();
  for (const TokenRecord& token : stored->tokens) {
    Check(std::find(tokens.begin(), tokens.end(), token) != tokens.end(),
          "a token is stored as it is");
  }
  for (const CertificateRecord& certificate : stored->certificates) {
    Check(std::find(certificates.begin(), certificates.end(), certificate) != certificates.end(),
          "a certificate is stored as it is");
  }
  Check(stored->certificates.size() == certificates.size(), "every certificate is stored");
}

}  // namespace hpc::coordinator::testing
