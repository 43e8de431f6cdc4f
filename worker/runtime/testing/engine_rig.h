// An engine on a real loop with real supervisors. The test plays the coordinator, and makes up the
// machine.
#ifndef HPC_WORKER_RUNTIME_TESTING_ENGINE_RIG_H_
#define HPC_WORKER_RUNTIME_TESTING_ENGINE_RIG_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/clock.h"
#include "protocol/coordinator_message.h"
#include "protocol/worker_message.h"
#include "worker/link/link.h"
#include "worker/loop/event_loop.h"
#include "worker/os/seams.h"
#include "worker/runtime/engine.h"

namespace hpc::worker {

// The coordinator's end, without a wire.
class FakeLink : public Link {
 public:
  void SetCallbacks(Callbacks callbacks) override { callbacks_ = std::move(callbacks); }
  void Open(const protocol::Hello& hello) override {
    open = true;
    hellos.push_back(hello);
  }
  void Send(const protocol::WorkerMessage& message, int64_t) override {
    if (open) said.push_back(message);
  }
  void SendHeartbeat(const std::vector<DeviceUsage>&, const protocol::Heartbeat& beat,
                     bool answer_may_wait) override {
    ++heartbeats;
    answer_waits = answer_may_wait;
    doing = beat.doing;
  }
  void SendInventory(const protocol::Inventory&) override {}
  void Flush() override {}
  void Finish() override { finished = true; }
  void Close() override { open = false; }

  void Say(const protocol::CoordinatorMessage& message) { callbacks_.on_message(message); }
  void Break(const absl::Status& why) {
    open = false;
    callbacks_.on_closed(why);
  }

  template <typename T>
  std::vector<T> Heard() const {
    std::vector<T> found;
    for (const protocol::WorkerMessage& message : said) {
      if (const T* one = std::get_if<T>(&message)) found.push_back(*one);
    }
    return found;
  }

  bool open = false;
  bool finished = false;
  int heartbeats = 0;
  std::vector<protocol::RankDoing> doing;  // of the last heartbeat
  bool answer_waits = false;
  std::vector<protocol::Hello> hellos;
  std::vector<protocol::WorkerMessage> said;

 private:
  Callbacks callbacks_;
};

class FakeHost : public HostProbe {
 public:
  protocol::Inventory Read() override { return info; }
  std::string BootId() override { return "boot"; }
  absl::Duration SuspendedTime() override { return suspended; }
  absl::StatusOr<std::string> SourceAddressFor(const std::string&) override {
    return std::string("127.0.0.1");
  }
  absl::StatusOr<std::string> InterfaceOf(const std::string&) override { return std::string("lo"); }

  protocol::Inventory info;
  absl::Duration suspended;
};

class FakeDevices : public DeviceProbe {
 public:
  std::vector<protocol::Device> Devices() override {
    return {{.index = 0, .name = "slot"}, {.index = 1, .name = "slot"}};
  }
  std::vector<DeviceUsage> Usage() override { return {}; }
  std::string DriverVersion() override { return ""; }
};

class FakePython : public PythonProbe {
 public:
  absl::StatusOr<PythonFacts> Probe(const std::string&, const std::vector<std::string>&,
                                    const std::vector<std::string>&) override {
    return facts;
  }
  PythonFacts facts;
};

class FakePower : public Power {
 public:
  absl::Status Sleep() override {
    const std::lock_guard<std::mutex> lock(busy);
    ++sleeps;
    return answer;
  }
  bool GoingDown() override { return going_down; }
  void KeepAwake(bool awake) override { kept_awake = awake; }
  std::mutex busy;  // a test that holds this makes going to sleep take long
  int sleeps = 0;
  absl::Status answer;
  bool going_down = false;
  bool kept_awake = false;
};

class EngineRig : public ::testing::Test {
 protected:
  EngineRig();
  // Ends the ranks that are left.
  ~EngineRig() override;

  void StartWorker();
  // Ends the worker as kill -9 does: nothing is said, and supervisors live on.
  void KillWorker();
  // Runs the worker until `done`; fails the test if that takes too long.
  void RunUntil(const std::function<bool()>& done);
  // Hello and welcome.
  void Connect();

  // An attempt of one node with one rank, which executes `script` with sh.
  protocol::Prepare ShellAttempt(AttemptRef ref, const std::string& script) const;
  // Prepares and starts the attempt, and waits until it runs.
  void RunAttempt(const protocol::Prepare& prepare);
  void WaitReturned(AttemptRef ref);
  // Acknowledges output as it comes. Returns everything that came of one stream.
  void AckOutput();
  std::string OutputOf(AttemptRef ref, int32_t rank, bool is_stderr) const;

  std::string dir_;
  RealClock clock_;
  FakeHost host_;
  FakeDevices devices_;
  FakePython python_;
  FakePower power_;
  EngineOptions options_;
  Route route_{{*ParseEndpoint("127.0.0.1:7077")}, member::Security::PlainText()};
  std::unique_ptr<EventLoop> loop_;
  std::unique_ptr<FakeLink> link_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_RUNTIME_TESTING_ENGINE_RIG_H_
