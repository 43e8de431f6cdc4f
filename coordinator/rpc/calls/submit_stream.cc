#include "coordinator/rpc/calls/submit_stream.h"

#include "coordinator/rpc/calls/status.h"
#include "coordinator/rpc/convert/convert_spec.h"
#include "coordinator/rpc/convert/limits.h"
#include "hpc/v1/runs.pb.h"

namespace hpc::coordinator {

void SubmitStream::OnMessage(const Caller& caller, const grpc::ByteBuffer& bytes) {
  v1::SubmitRequest request;
  absl::Status status = Parse(bytes, &request);
  if (status.ok()) status = CheckSubmit(request);
  if (status.ok()) {
    status = CheckPriority(caller.standing, request.spec().priority(),
                           engine_->cluster().options().user_priority);
  }
  ++awaited_;
  const auto answer = [this, alive = alive_](const absl::StatusOr<RunId>& run) {
    if (*alive) Answer(run);
  };
  if (status.ok()) {
    RunRequest run = ToRunRequest(request.spec());
    run.user = caller.user;
    engine_->Submit(run, ToRunProgram(request), answer);
  } else {
    // The error goes through the engine, so that answers keep the order of the requests.
    engine_->AfterCommit([answer, status] { answer(status); });
  }
  ReadOn();
}

void SubmitStream::Answer(const absl::StatusOr<RunId>& run) {
  --awaited_;
  v1::SubmitManyResponse response;
  if (run.ok()) {
    response.set_run(*run);
  } else {
    const grpc::Status error = ToGrpc(run.status());
    response.set_error_code(static_cast<int32_t>(error.error_code()));
    response.set_error(error.error_message());
  }
  Send(response);
  if (input_ended_ && awaited_ == 0) Finish(absl::OkStatus());
  ReadOn();
}

void SubmitStream::OnEndOfInput() {
  input_ended_ = true;
  if (awaited_ == 0) Finish(absl::OkStatus());
}

// A client that does not read its answers is not listened to either.
void SubmitStream::ReadOn() {
  if (awaited_ + unsent() < kUnansweredSubmissions) ReadNext();
}

}  // namespace hpc::coordinator
