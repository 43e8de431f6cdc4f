// Server reflection: tells tools which methods can be called, and with which messages. gRPC's own
// plugin would answer everybody, on a thread for each stream.
#ifndef HPC_COORDINATOR_RPC_CALLS_REFLECTION_STREAM_H_
#define HPC_COORDINATOR_RPC_CALLS_REFLECTION_STREAM_H_

#include "coordinator/rpc/calls/bidi_call.h"

namespace hpc::coordinator {

class ReflectionStream final : public BidiCall {
 private:
  void OnMessage(const Caller& caller, const grpc::ByteBuffer& bytes) override;
  void OnEndOfInput() override { Finish(absl::OkStatus()); }
  // A peer that does not read the answers is not listened to either.
  void OnWritten() override { ReadNext(); }
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_CALLS_REFLECTION_STREAM_H_
