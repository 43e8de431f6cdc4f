// Turns what one worker says on its connection into calls of the engine. There is no gRPC in here.
#ifndef HPC_COORDINATOR_RPC_HANDLERS_WORKER_SESSION_H_
#define HPC_COORDINATOR_RPC_HANDLERS_WORKER_SESSION_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "coordinator/rpc/answers/node_usage.h"
#include "coordinator/rpc/doors/caller.h"
#include "coordinator/runtime/engine.h"
#include "hpc/v1/worker.pb.h"

namespace hpc::coordinator {

class WorkerSession {
 public:
  // `link` takes the engine's commands for this worker.
  WorkerSession(Engine* engine, NodeUsage* usage, NodeLink* link)
      : engine_(engine), usage_(usage), link_(link) {}

  // The first message must be a hello. After an error the connection ends.
  absl::Status Take(const Caller& caller, const v1::WorkerMessage& message);
  // The connection has ended. `reset` is that of Engine::OnDisconnect.
  void Disconnect(bool reset);
  // The engine has ended the connection.
  void Forget();

  // "" before a hello was accepted, and after the end.
  std::string node() const { return session_ ? session_->node : ""; }

 private:
  absl::Status OnFirst(const Caller& caller, const v1::WorkerMessage& message);
  absl::Status OnReport(const v1::WorkerMessage& message);
  absl::Status OnOutput(const v1::WorkerMessage& message);

  Engine* const engine_;
  NodeUsage* const usage_;
  NodeLink* const link_;
  std::optional<Session> session_;  // from an accepted hello until either side ends the call
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_HANDLERS_WORKER_SESSION_H_
