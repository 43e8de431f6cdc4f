#include "coordinator/rpc/calls/call_host.h"

#include <string>
#include <utility>

#include "common/status_macros.h"
#include "coordinator/rpc/calls/bidi_call.h"
#include "coordinator/rpc/doors/doorman.h"

namespace hpc::coordinator {

absl::StatusOr<Caller> CallHost::Admit(OpenCall* call, const char* method,
                                       const grpc::ServerContext& context) {
  HPC_RETURN_IF_ERROR(stopping);
  HPC_ASSIGN_OR_RETURN(Caller caller, doorman->Admit(method, context));
  const absl::Status counted = open.SetCaller(call, caller);
  if (!counted.ok()) {
    NoteRefusal(caller.peer, std::string(counted.message()));
    return counted;
  }
  return caller;
}

void CallHost::SendGathered() {
  for (BidiCall* call : std::exchange(gathering, {})) call->SendGathered();
}

void CallHost::EndCallsOf(const std::vector<std::string>& serials, const absl::Status& reason) {
  open.StopOf(serials, reason);
}

absl::Status CallHost::ChangeAuthority() {
  HPC_RETURN_IF_ERROR(issue_certificate());
  doorman->ForgetVerified();
  return absl::OkStatus();
}

void CallHost::NoteRefusal(const std::string& peer, const std::string& what) {
  doorman->NoteRefusal(peer, what);
}

}  // namespace hpc::coordinator
