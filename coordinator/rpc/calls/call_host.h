// The state that all calls of one server share.
#ifndef HPC_COORDINATOR_RPC_CALLS_CALL_HOST_H_
#define HPC_COORDINATOR_RPC_CALLS_CALL_HOST_H_

#include <grpcpp/completion_queue.h>
#include <grpcpp/server_context.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/rpc/calls/open_calls.h"
#include "coordinator/rpc/doors/caller.h"
#include "coordinator/rpc/handlers/gate.h"

namespace hpc::coordinator {

class BidiCall;
class Doorman;

struct CallHost final : Gate {
  Doorman* doorman = nullptr;
  grpc::ServerCompletionQueue* queue = nullptr;
  OpenCalls open;
  // Makes a new certificate of the coordinator, which is shown to new connections.
  std::function<absl::Status()> issue_certificate;
  absl::Status stopping;             // once it is not OK, calls are refused with it
  std::vector<BidiCall*> gathering;  // the calls that have something for SendGathered

  // Finds out who makes a call that may last for ever. The call has been added to `open`. Refusals
  // are those of Doorman::Admit and OpenCalls::SetCaller, and `stopping`.
  absl::StatusOr<Caller> Admit(OpenCall* call, const char* method,
                               const grpc::ServerContext& context);

  // Sends what calls were given for their peers since the last time. Called after each Flush of the
  // engine.
  void SendGathered();

  void EndCallsOf(const std::vector<std::string>& serials, const absl::Status& reason) override;
  absl::Status ChangeAuthority() override;
  void NoteRefusal(const std::string& peer, const std::string& what) override;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_CALLS_CALL_HOST_H_
