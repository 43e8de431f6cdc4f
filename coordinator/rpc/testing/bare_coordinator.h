// A whole coordinator without its sockets: the handlers of requests and messages, the engine, the
// store and the trust. It checks by itself what must always hold. If that does not hold, it aborts
// with words on standard error.
#ifndef HPC_COORDINATOR_RPC_TESTING_BARE_COORDINATOR_H_
#define HPC_COORDINATOR_RPC_TESTING_BARE_COORDINATOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "coordinator/rpc/handlers/certificate_handlers.h"
#include "coordinator/rpc/handlers/cluster_handlers.h"
#include "coordinator/rpc/handlers/gate.h"
#include "coordinator/rpc/handlers/join_handlers.h"
#include "coordinator/rpc/handlers/nodes_handlers.h"
#include "coordinator/rpc/handlers/runs_handlers.h"
#include "coordinator/rpc/handlers/token_handlers.h"
#include "coordinator/rpc/handlers/worker_session.h"
#include "coordinator/runtime/engine.h"
#include "coordinator/runtime/testing/inbox.h"
#include "coordinator/store/testing/memory_files.h"
#include "coordinator/trust/trust.h"
#include "hpc/v1/worker.pb.h"

namespace hpc::coordinator::testing {

void Check(const absl::Status& status, const char* what);
void Check(bool holds, const char* what);

// A folder in memory with the state of a coordinator; each coordinator begins with a copy of it.
// The database is empty except for tokens. They have enough uses for a worker, a user and an admin,
// and their secrets are "worker secret 16", "person secret 16" and "admins secret 16".
class BareState {
 public:
  BareState();
  ~BareState();
  BareState(const BareState&) = delete;
  BareState& operator=(const BareState&) = delete;

  // Makes a copy and returns where it is. It replaces the copy made before.
  std::string Begin() const;

 private:
  std::string path_ = "/dev/shm/bare_coordinator_XXXXXX";
};

class BareCoordinator final : public Gate {
 public:
  static constexpr size_t kWorkers = 3;

  // `dir` comes from BareState::Begin.
  explicit BareCoordinator(const std::string& dir);
  ~BareCoordinator() override;

  // Starts from what is stored, as after a crash.
  void Start();
  // When it returns, every request is answered.
  void Stop();
  void Pass(uint64_t ms);

  template <typename Handlers, typename Request, typename Response>
  void Ask(Handlers* handlers,
           void (Handlers::*method)(const Caller&, const Request&, Reply<Response>),
           const Caller& caller, const Request& request) {
    ++awaited_;
    (handlers->*method)(caller, request, [this](const absl::StatusOr<Response>& response) {
      --awaited_;
      if (response.ok()) CheckReadable(*response);
    });
    Settle();
  }

  // Reads the stream to its end, or until it has to wait.
  template <typename Handlers, typename Request, typename Response>
  void Read(Handlers* handlers,
            SourceOr<Response> (Handlers::*method)(const Caller&, const Request&),
            const Caller& caller, const Request& request) {
    auto source = (handlers->*method)(caller, request);
    if (!source.ok()) return;
    (*source)->OnOpen([] {});
    for (int i = 0; i < 2000; ++i) {
      Response response;
      const absl::StatusOr<Step> step = (*source)->Next(&response);
      if (!step.ok() || *step == Step::kEnd) return;
      if (*step == Step::kMessage) CheckReadable(response);
      if (*step == Step::kWait && !engine_->reading()) return;
      if (*step == Step::kWait) Settle();
    }
    Check(false, "a stream ends or waits");
  }

  // Takes a message from the connection of one of the workers.
  void Hear(size_t worker, const Caller& caller, const v1::WorkerMessage& message);
  // Breaks the connection of one of the workers, by a reset if `which` is even.
  void Lose(uint64_t which);

  RunsHandlers* runs() { return runs_.get(); }
  NodesHandlers* nodes() { return nodes_.get(); }
  ClusterHandlers* cluster() { return cluster_.get(); }
  JoinHandlers* joins() { return joins_.get(); }
  TokenHandlers* tokens() { return tokens_.get(); }
  CertificateHandlers* certificates() { return certificates_.get(); }

  void EndCallsOf(const std::vector<std::string>& serials, const absl::Status& reason) override;
  absl::Status ChangeAuthority() override;
  void NoteRefusal(const std::string& peer, const std::string& what) override;

 private:
  class Worker;
  class Deaf;

  static void CheckReadable(const google::protobuf::Message& response);
  // Answers what has come, as the end of each round does.
  void Settle();
  std::vector<RunRecord> Waiting() const;
  void CheckTrust() const;

  const std::string dir_;
  FakeClock clock_;
  const std::unique_ptr<WakeSender> wake_;
  MemoryFiles files_;  // the files of the logs
  NodeUsage usage_;
  int awaited_ = 0;
  std::unique_ptr<Store> store_;
  std::unique_ptr<LogStore> logs_;
  std::unique_ptr<SecretVault> secrets_;
  Inbox inbox_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Trust> trust_;
  std::unique_ptr<RunsHandlers> runs_;
  std::unique_ptr<NodesHandlers> nodes_;
  std::unique_ptr<ClusterHandlers> cluster_;
  std::unique_ptr<JoinHandlers> joins_;
  std::unique_ptr<TokenHandlers> tokens_;
  std::unique_ptr<CertificateHandlers> certificates_;
  std::unique_ptr<Worker> workers_[kWorkers];
};

}  // namespace hpc::coordinator::testing

#endif  // HPC_COORDINATOR_RPC_TESTING_BARE_COORDINATOR_H_
