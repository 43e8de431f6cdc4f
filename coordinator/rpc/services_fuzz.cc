// A day of a coordinator: requests of clients and messages of workers in any order and with any
// content, through what handles them, to the engine and the store. Each is answered or refused;
// what is stored can be loaded, and no device and no run is in two attempts.
//
// The input is a sequence of frames: what it is (kFrames), the length of its bytes (two bytes,
// little endian), and its bytes, a message or a number. Frames are mutated as messages.
#include <google/protobuf/stubs/logging.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "coordinator/rpc/convert_worker.h"
#include "coordinator/rpc/nodes_handlers.h"
#include "coordinator/rpc/runs_handlers.h"
#include "coordinator/rpc/worker_session.h"
#include "coordinator/runtime/engine.h"
#include "coordinator/store/memory_files.h"
#include "coordinator/store/sqlite_store.h"
#include "tests/fuzz/message_mutator.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace hpc::coordinator {
namespace {

using google::protobuf::Message;

void Check(const absl::Status& status, const char* what) {
  if (status.ok()) return;
  std::cerr << what << ": " << status << std::endl;
  abort();
}
void Check(bool holds, const char* what) {
  if (!holds) Check(absl::InternalError("does not hold"), what);
}

// A folder in memory with an empty database in it, which each input begins with a copy of.
class Place {
 public:
  Place() {
    Check(mkdtemp(path_.data()) != nullptr, "a folder in /dev/shm");
    Check(OpenSqliteStore(path_ + "/empty.db").status(), "an empty database");
  }
  ~Place() { std::filesystem::remove_all(path_); }

  std::string Begin() const {
    std::filesystem::remove_all(path_ + "/state");
    std::filesystem::create_directory(path_ + "/state");
    std::filesystem::copy_file(path_ + "/empty.db", path_ + "/state/hpc.db");
    return path_ + "/state";
  }

 private:
  std::string path_ = "/dev/shm/services_fuzz_XXXXXX";
};

class Deaf final : public WakeSender {
 public:
  absl::Status Wake(const WakeNode&) override { return absl::OkStatus(); }
};

// A worker's connection. What it is told is made a message and dropped.
class Worker final : public NodeLink {
 public:
  Worker(Engine* engine, NodeUsage* usage) : session(engine, usage, this) {}
  void Send(const NodeCommand& command) override { Drop(ToProto(command)); }
  void SendPrepare(const PrepareAttempt& prepare, const RunRecord& run,
                   const RunProgram& program) override {
    Drop(ToProto(prepare, run, program));
  }
  void SendWelcome(const Welcome& welcome) override { Drop(ToProto(welcome)); }
  void AckLog(const LogStreamId& stream, int64_t offset) override { Drop(LogAck(stream, offset)); }
  void AckMetrics(const MetricOffset& offset) override { Drop(MetricAck(offset)); }
  void Close(const absl::Status&) override { session.Forget(); }

  WorkerSession session;

 private:
  // Text that is no UTF-8 would not get to the worker.
  static void Drop(const v1::CoordinatorMessage& message) {
    v1::CoordinatorMessage again;
    Check(again.ParseFromString(message.SerializeAsString()), "a message for a worker");
  }
};

constexpr size_t kWorkers = 3;

// Everything of a coordinator but its sockets.
class Coordinator {
 public:
  explicit Coordinator(const std::string& dir) : dir_(dir) { Start(); }
  ~Coordinator() { Stop(); }

  void Start() {
    engine_.reset();
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
                                       logs_.get(), secrets_.get(), &wake_);
    runs_ = std::make_unique<RunsHandlers>(engine_.get());
    nodes_ = std::make_unique<NodesHandlers>(engine_.get(), &usage_);
    for (auto& worker : workers_) worker = std::make_unique<Worker>(engine_.get(), &usage_);
    Settle();
    for (const RunRecord& run : snapshot->runs) {
      Check(engine_->cluster().FindRun(run.id).has_value() ||
                IsTerminal(store_->GetRunRecord(run.id)->state),
            "a run of the store is in the core");
    }
  }

  void Stop() {
    for (auto& worker : workers_) worker->session.Disconnect(false);
    Settle();
    Check(awaited_ == 0, "every request is answered");
  }

  // Answers what came, as at the end of each round.
  void Settle() {
    Check(engine_->Flush(), "the store");
    for (const RunRecord& run : Waiting()) {
      Check(!engine_->cluster().Waiting(clock_.Get(), run.id).text.empty(),
            "whatever waits has a reason");
    }
  }

  void Pass(uint64_t ms) {
    clock_.Advance(absl::Milliseconds(static_cast<int64_t>(ms % 600'000)));
    Settle();
  }

  template <typename Handlers, typename Request, typename Response>
  void Ask(Handlers* handlers,
           void (Handlers::*method)(const Caller&, const Request&, Reply<Response>),
           const Caller& caller, const Message& request) {
    ++awaited_;
    (handlers->*method)(caller, static_cast<const Request&>(request),
                        [this](const absl::StatusOr<Response>& response) {
                          --awaited_;
                          if (response.ok()) CheckUtf8(*response);
                        });
    Settle();
  }

  template <typename Request, typename Response>
  void Read(SourceOr<Response> (RunsHandlers::*method)(const Caller&, const Request&),
            const Caller& caller, const Message& request) {
    auto source = (runs_.get()->*method)(caller, static_cast<const Request&>(request));
    if (!source.ok()) return;
    (*source)->OnOpen([] {});
    for (int i = 0; i < 1000; ++i) {
      Response response;
      const absl::StatusOr<Step> step = (*source)->Next(&response);
      if (!step.ok() || *step != Step::kMessage) return;
      CheckUtf8(response);
    }
    Check(false, "a stream ends or waits");
  }

  void Hear(size_t worker, const Caller& caller, const Message& message) {
    WorkerSession& session = workers_[worker]->session;
    if (!session.Take(caller, static_cast<const v1::WorkerMessage&>(message)).ok()) {
      session.Disconnect(false);
    }
    Settle();
  }
  void Lose(uint64_t which) {
    workers_[which % kWorkers]->session.Disconnect(which % 2 == 0);
    Settle();
  }

  RunsHandlers* runs() { return runs_.get(); }
  NodesHandlers* nodes() { return nodes_.get(); }

 private:
  static void CheckUtf8(const Message& response) {
    const std::unique_ptr<Message> again(response.New());
    Check(again->ParseFromString(response.SerializeAsString()), "an answer can be read");
  }

  std::vector<RunRecord> Waiting() const {
    const auto snapshot = store_->Load();
    Check(snapshot.status(), "what is stored");
    CheckOnce(*snapshot);
    std::vector<RunRecord> queued;
    for (const RunRecord& run : snapshot->runs) {
      if (run.state == RunState::kQueued) queued.push_back(run);
    }
    return queued;
  }

  static void CheckOnce(const Snapshot& snapshot) {
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

  const std::string dir_;
  FakeClock clock_;
  Deaf wake_;
  testing::MemoryFiles files_;  // of the logs
  NodeUsage usage_;
  int awaited_ = 0;
  std::unique_ptr<Store> store_;
  std::unique_ptr<LogStore> logs_;
  std::unique_ptr<SecretVault> secrets_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<RunsHandlers> runs_;
  std::unique_ptr<NodesHandlers> nodes_;
  std::unique_ptr<Worker> workers_[kWorkers];
};

// ---- frames

struct Frame {
  const Message* kind;  // null: a number
  std::function<void(Coordinator*, const Caller&, const Message&)> act;
  std::function<void(Coordinator*, uint64_t)> count;
};

template <typename Request, typename Response>
Frame Runs(void (RunsHandlers::*method)(const Caller&, const Request&, Reply<Response>)) {
  return {&Request::default_instance(),
          [method](Coordinator* c, const Caller& who, const Message& m) {
            c->Ask(c->runs(), method, who, m);
          },
          nullptr};
}
template <typename Request, typename Response>
Frame Nodes(void (NodesHandlers::*method)(const Caller&, const Request&, Reply<Response>)) {
  return {&Request::default_instance(),
          [method](Coordinator* c, const Caller& who, const Message& m) {
            c->Ask(c->nodes(), method, who, m);
          },
          nullptr};
}
template <typename Request, typename Response>
Frame Stream(SourceOr<Response> (RunsHandlers::*method)(const Caller&, const Request&)) {
  return {
      &Request::default_instance(),
      [method](Coordinator* c, const Caller& who, const Message& m) { c->Read(method, who, m); },
      nullptr};
}
Frame From(size_t worker) {
  return {
      &v1::WorkerMessage::default_instance(),
      [worker](Coordinator* c, const Caller& who, const Message& m) { c->Hear(worker, who, m); },
      nullptr};
}

// Kept inputs depend on the order.
const std::vector<Frame>& Frames() {
  static const auto* const kFrames = new std::vector<Frame>{
      From(0),
      From(1),
      From(2),
      {nullptr, nullptr, [](Coordinator* c, uint64_t ms) { c->Pass(ms); }},
      {nullptr, nullptr, [](Coordinator* c, uint64_t which) { c->Lose(which); }},
      {nullptr, nullptr,
       [](Coordinator* c, uint64_t) {
         c->Stop();
         c->Start();
       }},
      Runs(&RunsHandlers::Submit),
      Runs(&RunsHandlers::Cancel),
      Runs(&RunsHandlers::Get),
      Runs(&RunsHandlers::ListExperiments),
      Stream(&RunsHandlers::Follow),
      Stream(&RunsHandlers::List),
      Stream(&RunsHandlers::ReadLog),
      Stream(&RunsHandlers::ListMetrics),
      Nodes(&NodesHandlers::List),
      Nodes(&NodesHandlers::Reclaim),
      Nodes(&NodesHandlers::Lend),
      Nodes(&NodesHandlers::Sleep),
      Nodes(&NodesHandlers::Wake),
      Nodes(&NodesHandlers::Forget),
  };
  return *kFrames;
}

constexpr uint8_t kOwnOnly = 0x80;  // in the byte that says what a frame is
constexpr size_t kMaxFrames = 40;

struct Piece {
  uint8_t what = 0;
  std::string bytes;
  const Frame& frame() const { return Frames()[(what & 0x7f) % Frames().size()]; }
};

std::vector<Piece> Split(const uint8_t* data, size_t size) {
  std::vector<Piece> pieces;
  while (size >= 3 && pieces.size() < kMaxFrames) {
    const size_t length = std::min(size - 3, data[1] + size_t{256} * data[2]);
    pieces.push_back({data[0], std::string(reinterpret_cast<const char*>(data) + 3, length)});
    data += 3 + length;
    size -= 3 + length;
  }
  return pieces;
}

std::string Join(const std::vector<Piece>& pieces) {
  std::string bytes;
  for (const Piece& piece : pieces) {
    bytes += static_cast<char>(piece.what);
    bytes += static_cast<char>(piece.bytes.size() & 0xff);
    bytes += static_cast<char>(piece.bytes.size() >> 8);
    bytes += piece.bytes;
  }
  return bytes;
}

uint64_t Number(const std::string& bytes) {
  uint64_t number = 0;
  for (const char c : bytes.substr(0, 8)) number = number << 8 | static_cast<uint8_t>(c);
  return number;
}

void Act(const Piece& piece, Coordinator* coordinator) {
  const Frame& frame = piece.frame();
  if (frame.kind == nullptr) return frame.count(coordinator, Number(piece.bytes));
  const std::unique_ptr<Message> message(frame.kind->New());
  if (!message->ParseFromString(piece.bytes)) return;  // refused before any handler sees it
  Caller caller{.standing = Standing::kAdmin, .user = "anna", .peer = "10.0.0.7"};
  caller.own_only = (piece.what & kOwnOnly) != 0;
  frame.act(coordinator, caller, *message);
}

void Mutate(std::vector<Piece>* pieces, std::mt19937* random) {
  const auto pick = [random](size_t n) { return (*random)() % n; };
  const auto at = [&] { return pieces->begin() + static_cast<ptrdiff_t>(pick(pieces->size())); };
  const size_t how = pieces->empty() ? 0 : pick(12);
  if (how == 0) {
    pieces->insert(pieces->empty() ? pieces->end() : at(),
                   {static_cast<uint8_t>(pick(Frames().size())), ""});
  } else if (how == 1) {
    const Piece copy = *at();
    pieces->insert(at(), copy);
  } else if (how == 2 && pieces->size() > 1) {
    pieces->erase(at());
  } else if (how == 3) {
    std::iter_swap(at(), at());
  } else if (how == 4) {
    at()->what ^= kOwnOnly;
  } else {
    Piece& piece = *at();
    const Frame& frame = piece.frame();
    if (frame.kind == nullptr) {
      piece.bytes = std::string(1 + pick(3), static_cast<char>(pick(256)));
      return;
    }
    const std::unique_ptr<Message> message(frame.kind->New());
    (void)message->ParsePartialFromString(piece.bytes);
    for (size_t times = 1 + pick(3); times > 0; --times) {
      hpc::testing::MutateMessage(message.get(), random);
    }
    std::string bytes = message->SerializeAsString();
    if (bytes.size() <= 60'000) piece.bytes = std::move(bytes);
  }
}

}  // namespace
}  // namespace hpc::coordinator

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  using namespace hpc::coordinator;  // NOLINT: so that the calls read as elsewhere
  std::mt19937 random(seed);
  if (random() % 20 == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::vector<Piece> pieces = Split(data, size);
  Mutate(&pieces, &random);
  const std::string bytes = Join(pieces);
  if (bytes.size() > max_size) return size;
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hpc::coordinator;  // NOLINT: so that the calls read as elsewhere
  static const google::protobuf::LogSilencer silence;  // of text that is not UTF-8
  static const Place place;
  Coordinator coordinator(place.Begin());
  for (const Piece& piece : Split(data, size)) Act(piece, &coordinator);
  coordinator.Stop();
  coordinator.Start();
  return 0;
}
