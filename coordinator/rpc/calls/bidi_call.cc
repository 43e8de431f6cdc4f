#include "coordinator/rpc/calls/bidi_call.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "coordinator/rpc/calls/status.h"
#include "coordinator/rpc/doors/doorman.h"

namespace hpc::coordinator {

void BidiCall::Accept(CallHost* host, std::shared_ptr<const BidiMethod> method) {
  BidiCall* call = method->make();
  call->host_ = host;
  call->method_ = std::move(method);
  if (call->ear_ == Ear::kAtTimes) call->context_.AsyncNotifyWhenDone(&call->done_tag_);
  call->method_->accept(&call->context_, &call->stream_, host->queue, &call->accepted_tag_);
}

BidiCall::BidiCall(Ear ear)
    : ear_(ear),
      stream_(&context_),
      accepted_tag_(this, &BidiCall::OnAcceptedTag),
      read_tag_(this, &BidiCall::OnReadTag),
      written_tag_(this, &BidiCall::OnWrittenTag),
      finished_tag_(this, &BidiCall::OnFinishedTag),
      done_tag_(this, &BidiCall::OnDoneTag) {}

BidiCall::~BidiCall() {
  host_->open.Remove(this);
  std::erase(host_->gathering, this);
}

void BidiCall::OnAcceptedTag(bool ok) {
  if (!ok) {  // the server has shut down; there will be no `done` for a call that never began
    delete this;
    return;
  }
  Accept(host_, method_);
  host_->open.Add(this);
  absl::StatusOr<Caller> caller = host_->Admit(this, method_->name, context_);
  if (!caller.ok()) return Finish(caller.status());
  caller_ = *std::move(caller);
  ReadNext();
}

void BidiCall::ReadNext() {
  if (reading_ || input_ended_ || end_ || done_) return;
  reading_ = true;
  stream_.Read(&input_, &read_tag_);
}

void BidiCall::OnReadTag(bool ok) {
  reading_ = false;
  if (!ok) {
    EndInput();
  } else if (!end_) {
    OnMessage(caller_, input_);
  }
  DeleteIfIdle();
}

void BidiCall::EndInput() {
  if (end_ || input_ended_) return;
  input_ended_ = true;
  OnEndOfInput();
}

void BidiCall::Send(const google::protobuf::Message& message) {
  if (end_ || done_) return;
  queue_.push_back(Serialize(message));
  Continue();
}

void BidiCall::Gather() {
  std::vector<BidiCall*>& gathering = host_->gathering;
  if (std::find(gathering.begin(), gathering.end(), this) == gathering.end()) {
    gathering.push_back(this);
  }
}

void BidiCall::Finish(const absl::Status& status) {
  if (end_) return;
  end_ = status;
  host_->doorman->NoteDenied(caller_, status);
  if (!status.ok()) queue_.clear();
  Continue();
}

void BidiCall::Continue() {
  if (writing_ || end_sent_ || done_) return;
  if (!queue_.empty()) {
    writing_ = true;
    stream_.Write(queue_.front(), &written_tag_);
    queue_.pop_front();
  } else if (end_) {
    writing_ = end_sent_ = true;
    stream_.Finish(ToGrpc(*end_), &finished_tag_);
  }
}

void BidiCall::OnWrittenTag(bool ok) {
  writing_ = false;
  if (!ok) queue_.clear();
  Continue();
  if (ok && !end_) OnWritten();
  DeleteIfIdle();
}

void BidiCall::OnFinishedTag(bool) {
  writing_ = false;
  if (ear_ == Ear::kAlways) done_ = true;
  DeleteIfIdle();
}

void BidiCall::OnDoneTag(bool) {
  done_ = true;
  EndInput();
  DeleteIfIdle();
}

void BidiCall::DeleteIfIdle() {
  if (done_ && !reading_ && !writing_) delete this;
}

}  // namespace hpc::coordinator
