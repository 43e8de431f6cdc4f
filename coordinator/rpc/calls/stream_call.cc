#include "coordinator/rpc/calls/stream_call.h"

#include "coordinator/rpc/calls/status.h"
#include "coordinator/rpc/doors/doorman.h"

namespace hpc::coordinator {

void StreamCall::Accept(CallHost* host, std::shared_ptr<const StreamMethod> method) {
  auto* call = new StreamCall(host, std::move(method));
  call->context_.AsyncNotifyWhenDone(&call->done_tag_);
  call->method_->accept(&call->context_, &call->request_, &call->writer_, host->queue,
                        &call->accepted_tag_);
}

StreamCall::StreamCall(CallHost* host, std::shared_ptr<const StreamMethod> method)
    : host_(host),
      method_(std::move(method)),
      writer_(&context_),
      accepted_tag_(this, &StreamCall::OnAccepted),
      written_tag_(this, &StreamCall::OnWritten),
      finished_tag_(this, &StreamCall::OnFinished),
      done_tag_(this, &StreamCall::OnDone) {}

StreamCall::~StreamCall() { host_->open.Remove(this); }

void StreamCall::OnAccepted(bool ok) {
  if (!ok) {  // the server has shut down; there will be no `done` for a call that never began
    delete this;
    return;
  }
  Accept(host_, method_);
  host_->open.Add(this);
  Open();
}

void StreamCall::Open() {
  const absl::StatusOr<Caller> caller = host_->Admit(this, method_->name, context_);
  if (!caller.ok()) return Finish(caller.status());
  auto source = method_->open(*caller, request_);
  request_.Clear();
  if (!source.ok()) {
    host_->doorman->NoteDenied(*caller, source.status());
    return Finish(source.status());
  }
  source_ = std::move(*source);
  source_->OnOpen([this] { Continue(); });
  Continue();
}

void StreamCall::Continue() {
  if (busy_ || end_ || done_) return;
  grpc::ByteBuffer message;
  const absl::StatusOr<Step> step = source_->Next(&message);
  if (!step.ok()) return Finish(step.status());
  switch (*step) {
    case Step::kMessage:
      busy_ = true;
      writer_.Write(message, &written_tag_);
      return;
    case Step::kWait:
      return;
    case Step::kEnd:
      return Finish(absl::OkStatus());
  }
}

void StreamCall::OnWritten(bool ok) {
  busy_ = false;
  if (end_) {
    SendEnd();
  } else if (ok) {
    Continue();
  }
  DeleteIfIdle();
}

// The source is kept until the call dies, since this may run inside one of the source's methods.
void StreamCall::Finish(const absl::Status& status) {
  if (end_ || done_) return;
  end_ = status;
  if (!busy_) SendEnd();
}

void StreamCall::SendEnd() {
  if (done_) return;
  busy_ = true;
  writer_.Finish(ToGrpc(*end_), &finished_tag_);
}

void StreamCall::OnFinished(bool) {
  busy_ = false;
  DeleteIfIdle();
}

void StreamCall::OnDone(bool) {
  done_ = true;
  DeleteIfIdle();
}

void StreamCall::DeleteIfIdle() {
  if (done_ && !busy_) delete this;
}

}  // namespace hpc::coordinator
