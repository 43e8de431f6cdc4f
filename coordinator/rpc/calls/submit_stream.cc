#include "coordinator/rpc/calls/submit_stream.h"

#include "coordinator/rpc/calls/status.h"
#include "coordinator/rpc/convert/limits.h"
#include "coordinator/rpc/handlers/submission.h"
#include "hpc/v1/runs.pb.h"

namespace hpc::coordinator {

void SubmitStream::OnMessage(const Caller& caller, const grpc::ByteBuffer& bytes) {
  v1::SubmitRequest request;
  const absl::Status parsed = Parse(bytes, &request);
  ++awaited_;
  const auto answer = [this, alive = alive_](const absl::StatusOr<RunId>& run) {
    if (*alive) Answer(run);
  };
  if (parsed.ok()) {
    SubmitRun(engine_, caller, request, answer);
  } else {
    // The error goes through the engine, so that answers keep the order of the requests.
    engine_->AfterCommit([answer, parsed] { answer(parsed); });
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
