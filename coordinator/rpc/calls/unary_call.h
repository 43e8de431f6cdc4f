// One request, one answer.
#ifndef HPC_COORDINATOR_RPC_CALLS_UNARY_CALL_H_
#define HPC_COORDINATOR_RPC_CALLS_UNARY_CALL_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/async_unary_call.h>

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "coordinator/rpc/answers/reply.h"
#include "coordinator/rpc/calls/call_host.h"
#include "coordinator/rpc/calls/message_bytes.h"
#include "coordinator/rpc/calls/tag.h"
#include "coordinator/rpc/doors/caller.h"

namespace hpc::coordinator {

struct UnaryMethod {
  using Writer = grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>;
  const char* name;  // as in the access table
  // Asks the generated service for the next call of this method.
  std::function<void(grpc::ServerContext*, grpc::ByteBuffer*, Writer*, grpc::ServerCompletionQueue*,
                     void* tag)>
      accept;
  std::function<void(const Caller&, const grpc::ByteBuffer&, Reply<grpc::ByteBuffer>)> handle;
};

// A call deletes itself when it is over, and accepts its successor when it begins.
class UnaryCall {
 public:
  static void Accept(CallHost* host, std::shared_ptr<const UnaryMethod> method);

 private:
  UnaryCall(CallHost* host, std::shared_ptr<const UnaryMethod> method);
  void OnAccepted(bool ok);
  void OnFinished(bool ok);
  void Finish(const absl::StatusOr<grpc::ByteBuffer>& response);

  CallHost* const host_;
  const std::shared_ptr<const UnaryMethod> method_;
  grpc::ServerContext context_;
  Caller caller_;
  grpc::ByteBuffer request_;
  UnaryMethod::Writer writer_;
  MemberTag<UnaryCall> accepted_tag_, finished_tag_;
};

// Turns a handler of typed messages into a handler of bytes.
template <typename Handlers, typename Request, typename Response>
auto TypedUnary(Handlers* handlers,
                void (Handlers::*method)(const Caller&, const Request&, Reply<Response>)) {
  return [handlers, method](const Caller& caller, const grpc::ByteBuffer& bytes,
                            Reply<grpc::ByteBuffer> reply) {
    Request request;
    if (absl::Status status = Parse(bytes, &request); !status.ok()) return reply(status);
    (handlers->*method)(caller, request,
                        [reply = std::move(reply)](const absl::StatusOr<Response>& response) {
                          if (!response.ok()) return reply(response.status());
                          reply(Serialize(*response));
                        });
  };
}

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_CALLS_UNARY_CALL_H_
