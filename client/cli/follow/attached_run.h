// A run that a command submits and stays with until its end.
#ifndef HPC_CLIENT_CLI_FOLLOW_ATTACHED_RUN_H_
#define HPC_CLIENT_CLI_FOLLOW_ATTACHED_RUN_H_

#include "absl/status/statusor.h"
#include "client/cli/follow/cancel_on_interrupt.h"
#include "client/cli/follow/rank_output.h"
#include "client/cli/input/code_state.h"
#include "client/cli/input/run_spec.h"
#include "client/cli/session.h"

namespace hpc::client {

class AttachedRun {
 public:
  // Must be called before any other thread is made. From now on Ctrl-C and SIGTERM mean what
  // cancel_on_interrupt.h says.
  AttachedRun(Session* session, const Caller& caller)
      : session_(session), interrupts_(session), code_(caller.workdir) {}

  // Submits the run, shows its output, and returns its exit code.
  absl::StatusOr<int> Run(v1::RunSpec spec, Labelling labelling);

 private:
  Session* const session_;
  CancelOnInterrupt interrupts_;
  CodeStateReader code_;
};

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_FOLLOW_ATTACHED_RUN_H_
