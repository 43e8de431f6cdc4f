#include "coordinator/rpc/worker_stream.h"

#include "common/log.h"
#include "coordinator/rpc/convert_worker.h"

namespace hpc::coordinator {

using v1::WorkerMessage;

// ------------------------------------------------------------------------------ the worker says

void WorkerStream::OnMessage(const Caller& caller, const grpc::ByteBuffer& bytes) {
  WorkerMessage message;
  absl::Status status = Parse(bytes, &message);
  if (status.ok()) status = session_.Take(caller, message);
  if (status.ok()) {
    if (message.heartbeat().sent_us() != 0) BidiCall::Send(Heard(message.heartbeat()));
    return ReadNext();
  }
  LogWarning("a worker's connection is closed",
             {{"peer", caller.peer},
              {"node", session_.node().empty() ? message.hello().node() : session_.node()},
              {"reason", status.message()}});
  // Its process lives on, so nothing is concluded but that it has to connect again.
  session_.Disconnect(/*reset=*/false);
  Finish(status);
}

// The worker's side closed the connection. A link that merely went silent looks different: nothing
// arrives at all, and its lease runs out.
void WorkerStream::OnEndOfInput() {
  session_.Disconnect(/*reset=*/true);
  Finish(absl::OkStatus());
}

void WorkerStream::Stop(const absl::Status& reason) {
  session_.Disconnect(/*reset=*/false);
  Finish(reason);
}

// --------------------------------------------------------------------------- the worker is told

void WorkerStream::Send(const NodeCommand& command) { BidiCall::Send(ToProto(command)); }

void WorkerStream::SendPrepare(const PrepareAttempt& prepare, const RunRecord& run,
                               const RunProgram& program) {
  BidiCall::Send(ToProto(prepare, run, program));
}

void WorkerStream::SendWelcome(const Welcome& welcome) { BidiCall::Send(ToProto(welcome)); }

void WorkerStream::AckLog(const LogStreamId& stream, int64_t offset) {
  BidiCall::Send(LogAck(stream, offset));
}

void WorkerStream::AckMetrics(const MetricOffset& offset) { BidiCall::Send(MetricAck(offset)); }

void WorkerStream::Close(const absl::Status& reason) {
  session_.Forget();
  Finish(reason);
}

}  // namespace hpc::coordinator
