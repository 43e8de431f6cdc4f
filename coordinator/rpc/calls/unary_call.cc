#include "coordinator/rpc/calls/unary_call.h"

#include "coordinator/rpc/calls/status.h"
#include "coordinator/rpc/doors/doorman.h"

namespace hpc::coordinator {

void UnaryCall::Accept(CallHost* host, std::shared_ptr<const UnaryMethod> method) {
  auto* call = new UnaryCall(host, std::move(method));
  call->method_->accept(&call->context_, &call->request_, &call->writer_, host->queue,
                        &call->accepted_tag_);
}

UnaryCall::UnaryCall(CallHost* host, std::shared_ptr<const UnaryMethod> method)
    : host_(host),
      method_(std::move(method)),
      writer_(&context_),
      accepted_tag_(this, &UnaryCall::OnAccepted),
      finished_tag_(this, &UnaryCall::OnFinished) {}

void UnaryCall::OnAccepted(bool ok) {
  if (!ok) {  // the server has shut down
    delete this;
    return;
  }
  Accept(host_, method_);
  if (!host_->stopping.ok()) return Finish(host_->stopping);
  absl::StatusOr<Caller> caller = host_->doorman->Admit(method_->name, context_);
  if (!caller.ok()) return Finish(caller.status());
  caller_ = *std::move(caller);
  method_->handle(caller_, request_, [this](const absl::StatusOr<grpc::ByteBuffer>& response) {
    host_->doorman->NoteDenied(caller_, response.status());
    Finish(response);
  });
}

void UnaryCall::Finish(const absl::StatusOr<grpc::ByteBuffer>& response) {
  if (response.ok()) {
    writer_.Finish(*response, grpc::Status::OK, &finished_tag_);
  } else {
    writer_.FinishWithError(ToGrpc(response.status()), &finished_tag_);
  }
}

void UnaryCall::OnFinished(bool) { delete this; }

}  // namespace hpc::coordinator
