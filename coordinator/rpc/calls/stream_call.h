// One request and many answers. Each answer is produced when the one before has been taken, so a
// slow reader costs no memory.
#ifndef HPC_COORDINATOR_RPC_CALLS_STREAM_CALL_H_
#define HPC_COORDINATOR_RPC_CALLS_STREAM_CALL_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "coordinator/rpc/answers/reply.h"
#include "coordinator/rpc/calls/call_host.h"
#include "coordinator/rpc/calls/message_bytes.h"
#include "coordinator/rpc/calls/tag.h"
#include "coordinator/rpc/doors/caller.h"

namespace hpc::coordinator {

using ByteSource = Source<grpc::ByteBuffer>;

struct StreamMethod {
  using Writer = grpc::ServerAsyncWriter<grpc::ByteBuffer>;
  const char* name;  // as in the access table
  std::function<void(grpc::ServerContext*, grpc::ByteBuffer*, Writer*, grpc::ServerCompletionQueue*,
                     void* tag)>
      accept;
  std::function<absl::StatusOr<std::unique_ptr<ByteSource>>(const Caller&, const grpc::ByteBuffer&)>
      open;
};

// A call deletes itself when it is over, and accepts its successor when it begins.
class StreamCall : public OpenCall {
 public:
  static void Accept(CallHost* host, std::shared_ptr<const StreamMethod> method);
  void Stop(const absl::Status& reason) override { Finish(reason); }

 private:
  StreamCall(CallHost* host, std::shared_ptr<const StreamMethod> method);
  ~StreamCall() override;
  void OnAccepted(bool ok);
  void OnWritten(bool ok);
  void OnFinished(bool ok);
  void OnDone(bool ok);
  void Open();
  void Continue();
  void SendEnd();
  void Finish(const absl::Status& status);
  void DeleteIfIdle();

  CallHost* const host_;
  const std::shared_ptr<const StreamMethod> method_;
  grpc::ServerContext context_;
  grpc::ByteBuffer request_;
  StreamMethod::Writer writer_;
  std::unique_ptr<ByteSource> source_;
  bool busy_ = false;                // a write or the finish is in progress
  std::optional<absl::Status> end_;  // how the call ends; nothing more is written once it is set
  bool done_ = false;                // gRPC has let go of the call
  MemberTag<StreamCall> accepted_tag_, written_tag_, finished_tag_, done_tag_;
};

// Turns a source of typed messages into a source of bytes.
template <typename Message>
class TypedSource final : public ByteSource {
 public:
  explicit TypedSource(std::unique_ptr<Source<Message>> source) : source_(std::move(source)) {}
  void OnOpen(std::function<void()> wake) override { source_->OnOpen(std::move(wake)); }
  absl::StatusOr<Step> Next(grpc::ByteBuffer* bytes) override {
    message_.Clear();
    absl::StatusOr<Step> step = source_->Next(&message_);
    if (step.ok() && *step == Step::kMessage) *bytes = Serialize(message_);
    return step;
  }

 private:
  std::unique_ptr<Source<Message>> source_;
  Message message_;  // used for all messages, so that its memory is allocated once
};

template <typename Handlers, typename Request, typename Response>
auto TypedStream(Handlers* handlers,
                 SourceOr<Response> (Handlers::*method)(const Caller&, const Request&)) {
  return [handlers, method](
             const Caller& caller,
             const grpc::ByteBuffer& bytes) -> absl::StatusOr<std::unique_ptr<ByteSource>> {
    Request request;
    if (absl::Status status = Parse(bytes, &request); !status.ok()) return status;
    SourceOr<Response> source = (handlers->*method)(caller, request);
    if (!source.ok()) return source.status();
    return std::make_unique<TypedSource<Response>>(std::move(*source));
  };
}

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_CALLS_STREAM_CALL_H_
