// An engine on a clock that stands still, with a real store in a temporary folder, logs in memory,
// and links that remember what they were told. Tests only.
#ifndef HPC_COORDINATOR_RUNTIME_TESTING_ENGINE_RIG_H_
#define HPC_COORDINATOR_RUNTIME_TESTING_ENGINE_RIG_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/clock.h"
#include "coordinator/runtime/engine.h"
#include "coordinator/runtime/testing/inbox.h"
#include "coordinator/store/testing/memory_files.h"
#include "coordinator/store/testing/records.h"
#include "protocol/coordinator_message.h"

namespace hpc::coordinator::testing {

class RecordingLink final : public NodeLink {
 public:
  void Send(const protocol::CoordinatorMessage& message) override {
    if (std::holds_alternative<protocol::Welcome>(message)) {
      welcomed = true;
    } else if (const auto* log = std::get_if<protocol::LogAck>(&message)) {
      log_acks[log->stream] = log->offset;
    } else if (const auto* metrics = std::get_if<protocol::MetricAck>(&message)) {
      metric_acks.push_back({metrics->ref, metrics->rank, metrics->end_offset});
    } else {
      commands.push_back(message);
    }
  }
  void Close(const absl::Status& reason) override { closed = reason; }

  // The first command of this kind; null if there is none.
  template <typename Command>
  const Command* Find() const {
    for (const protocol::CoordinatorMessage& c : commands) {
      if (const auto* found = std::get_if<Command>(&c)) return found;
    }
    return nullptr;
  }

  bool welcomed = false;
  std::vector<protocol::CoordinatorMessage> commands;
  std::map<protocol::StreamId, int64_t> log_acks;
  std::vector<MetricOffset> metric_acks;
  std::optional<absl::Status> closed;
};

class RecordingWatcher final : public Watcher {
 public:
  void Poke() override { ++pokes; }
  void PokeProgress() override { ++progress_pokes; }
  int pokes = 0;
  int progress_pokes = 0;
};

class RecordingWakeSender final : public WakeSender {
 public:
  absl::Status Wake(const WakeNode& wake) override {
    woken.push_back(wake.node);
    return absl::OkStatus();
  }
  bool WakesAnyNode() const override { return any_node; }
  std::vector<std::string> woken;
  bool any_node = false;
};

class EngineRig {
 public:
  EngineRig();

  // Makes a new engine on the same files, as after a restart.
  void Restart();

  // Connects a node with one CPU slot, up to its welcome.
  Session Connect(const std::string& node, RecordingLink* link);

  // Submits a run of one node and flushes.
  RunId SubmitOk();
  // Takes a run from submission to running on this node.
  AttemptRef RunOn(const Session& session, RecordingLink* link);
  // The node prepares an attempt that it was told of, and starts the one rank of it.
  void Start(const Session& session, AttemptRef ref);
  // The one rank of the attempt ends with 0, and the node returns its devices.
  void Finish(const Session& session, AttemptRef ref);

  RunState StateOf(RunId run);

  // Ends the round and waits for all reads. Returns whether there were any.
  bool FinishReads();

  FakeClock clock;
  RecordingWakeSender wake_sender;
  MemoryFiles files;  // the files of the logs
  std::unique_ptr<Store> store;
  std::unique_ptr<StoreReader> reader;  // what is on disk
  std::unique_ptr<LogStore> logs;
  std::unique_ptr<SecretVault> secrets;
  Inbox inbox;
  std::unique_ptr<Engine> engine;

 private:
  TempDir dir_;
};

protocol::Hello HelloOf(const std::string& node);
RunRequest OneNode();

}  // namespace hpc::coordinator::testing

#endif  // HPC_COORDINATOR_RUNTIME_TESTING_ENGINE_RIG_H_
