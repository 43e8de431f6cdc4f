#include "coordinator/rpc/calls/worker_stream.h"

#include <utility>

#include "common/process/log.h"
#include "common/status_macros.h"
#include "coordinator/rpc/convert/convert_worker.h"

namespace hpc::coordinator {

using v1::WorkerMessage;

namespace {

// This many short messages are about as long as one long message.
constexpr int kMostTogether = 30;
constexpr size_t kLongPrepare = 16 << 10;

v1::CoordinatorMessage Heard(int64_t sent_us) {
  return ToProto(protocol::Heard{{absl::Microseconds(sent_us)}});
}

}  // namespace

// ------------------------------------------------------------------------------ the worker says

void WorkerStream::OnMessage(const Caller& caller, const grpc::ByteBuffer& bytes) {
  WorkerMessage message;
  absl::Status status = Parse(bytes, &message);
  if (status.ok()) status = Take(caller, message);
  for (const WorkerMessage& one : message.more()) {
    if (status.ok()) status = Take(caller, one);
  }
  if (status.ok()) return ReadNext();
  LogWarning("a worker's connection is closed",
             {{"peer", caller.peer},
              {"node", session_.node().empty() ? message.hello().node() : session_.node()},
              {"reason", status.message()}});
  // The worker process lives on. Nothing is concluded, except that it has to connect again.
  session_.Disconnect(/*reset=*/false);
  Finish(status);
}

absl::Status WorkerStream::Take(const Caller& caller, const WorkerMessage& message) {
  HPC_RETURN_IF_ERROR(session_.Take(caller, message));
  if (message.has_hello()) takes_more_ = message.hello().takes_more();
  if (message.has_heartbeat()) Answer(message.heartbeat());
  return absl::OkStatus();
}

// The worker's side closed the connection. A link that merely went silent looks different: nothing
// arrives at all, and the node's lease runs out.
void WorkerStream::OnEndOfInput() {
  session_.Disconnect(/*reset=*/true);
  Finish(absl::OkStatus());
}

void WorkerStream::Stop(const absl::Status& reason) {
  SendGathered();
  session_.Disconnect(/*reset=*/false);
  Finish(reason);
}

// --------------------------------------------------------------------------- the worker is told

void WorkerStream::Answer(const v1::Heartbeat& heartbeat) {
  if (heartbeat.sent_us() == 0) return;
  waiting_us_ = heartbeat.answer_may_wait() ? heartbeat.sent_us() : 0;
  if (waiting_us_ == 0) Put(Heard(heartbeat.sent_us()));
}

void WorkerStream::Say(v1::CoordinatorMessage message) {
  if (waiting_us_ != 0) Put(Heard(std::exchange(waiting_us_, 0)));
  Put(std::move(message));
}

void WorkerStream::Put(v1::CoordinatorMessage message) {
  if (finishing()) return;
  // A long message goes alone.
  const bool together =
      takes_more_ && (!message.has_prepare() || message.ByteSizeLong() <= kLongPrepare);
  if (gathered_ && (!together || gathered_->more_size() >= kMostTogether)) SendGathered();
  if (!gathered_) {
    gathered_ = std::move(message);
    Gather();
  } else {
    *gathered_->add_more() = std::move(message);
  }
}

void WorkerStream::SendGathered() {
  if (gathered_) BidiCall::Send(*std::exchange(gathered_, std::nullopt));
}

void WorkerStream::Send(const protocol::CoordinatorMessage& message) { Say(ToProto(message)); }

void WorkerStream::Close(const absl::Status& reason) {
  session_.Forget();
  SendGathered();
  Finish(reason);
}

}  // namespace hpc::coordinator
