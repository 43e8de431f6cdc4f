// The connection of one worker: its messages become calls of the engine, the engine's commands
// become messages.
#ifndef HPC_COORDINATOR_RPC_WORKER_STREAM_H_
#define HPC_COORDINATOR_RPC_WORKER_STREAM_H_

#include <optional>

#include "coordinator/rpc/bidi_call.h"
#include "coordinator/rpc/node_usage.h"
#include "coordinator/runtime/engine.h"
#include "hpc/v1/worker.pb.h"

namespace hpc::coordinator {

class WorkerStream final : public BidiCall, public NodeLink {
 public:
  WorkerStream(Engine* engine, NodeUsage* usage) : engine_(engine), usage_(usage) {}

  void Send(const NodeCommand& command) override;
  void SendPrepare(const PrepareAttempt& prepare, const RunRecord& run,
                   const RunProgram& program) override;
  void SendWelcome(const Welcome& welcome) override;
  void AckLog(const LogStreamId& stream, int64_t offset) override;
  void AckMetrics(const MetricOffset& offset) override;
  void Close(const absl::Status& reason) override;
  void Stop(const absl::Status& reason) override;

 private:
  void OnMessage(const Caller& caller, const grpc::ByteBuffer& bytes) override;
  void OnEndOfInput() override;

  absl::Status OnFirst(const Caller& caller, const v1::WorkerMessage& message);
  absl::Status OnReport(const v1::WorkerMessage& message);
  absl::Status OnOutput(const v1::WorkerMessage& message);
  void Disconnect(bool reset);

  Engine* const engine_;
  NodeUsage* const usage_;
  std::optional<Session> session_;  // from an accepted hello until either side ends the call
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_WORKER_STREAM_H_
