// Many submissions on one stream, answered in order.
#ifndef HPC_COORDINATOR_RPC_CALLS_SUBMIT_STREAM_H_
#define HPC_COORDINATOR_RPC_CALLS_SUBMIT_STREAM_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "common/ids.h"
#include "coordinator/rpc/calls/bidi_call.h"
#include "coordinator/runtime/engine.h"

namespace hpc::coordinator {

class SubmitStream final : public BidiCall {
 public:
  explicit SubmitStream(Engine* engine) : engine_(engine) {}
  ~SubmitStream() override { *alive_ = false; }

 private:
  void OnMessage(const Caller& caller, const grpc::ByteBuffer& bytes) override;
  void OnEndOfInput() override;
  void OnWritten() override { ReadOn(); }

  void Answer(const absl::StatusOr<RunId>& run);
  void ReadOn();

  Engine* const engine_;
  // The call may die while the engine still owes it answers.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  size_t awaited_ = 0;  // answers that the engine owes
  bool input_ended_ = false;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_CALLS_SUBMIT_STREAM_H_
