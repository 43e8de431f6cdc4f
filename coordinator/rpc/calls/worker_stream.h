// The connection of one worker. Its messages become calls of the engine, and the engine's commands
// become messages.
#ifndef HPC_COORDINATOR_RPC_CALLS_WORKER_STREAM_H_
#define HPC_COORDINATOR_RPC_CALLS_WORKER_STREAM_H_

#include <optional>

#include "coordinator/rpc/answers/node_usage.h"
#include "coordinator/rpc/calls/bidi_call.h"
#include "coordinator/rpc/handlers/worker_session.h"
#include "coordinator/runtime/engine.h"
#include "hpc/v1/worker.pb.h"
#include "protocol/coordinator_message.h"

namespace hpc::coordinator {

class WorkerStream final : public BidiCall, public NodeLink {
 public:
  WorkerStream(Engine* engine, NodeUsage* usage)
      : BidiCall(Ear::kAlways), session_(engine, usage, this) {}

  void Send(const protocol::CoordinatorMessage& message) override;
  void Close(const absl::Status& reason) override;
  void Stop(const absl::Status& reason) override;
  void SendGathered() override;

 private:
  void OnMessage(const Caller& caller, const grpc::ByteBuffer& bytes) override;
  void OnEndOfInput() override;

  absl::Status Take(const Caller& caller, const v1::WorkerMessage& message);
  // Sends the message. If the answer to a heartbeat has waited for one, that answer goes first.
  void Say(v1::CoordinatorMessage message);
  void Put(v1::CoordinatorMessage message);
  void Answer(const v1::Heartbeat& heartbeat);

  WorkerSession session_;
  bool takes_more_ = false;  // the worker does
  std::optional<v1::CoordinatorMessage> gathered_;
  int64_t waiting_us_ = 0;  // `sent_us` of the newest heartbeat whose answer waits; 0: none
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_CALLS_WORKER_STREAM_H_
