#include "client/cli/exit_codes.h"

#include "client/cli/input/usage_error.h"

namespace hpc::client {

int ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return kExitOk;
  if (IsUsageError(status)) return kExitUsage;
  if (absl::IsUnavailable(status)) return kExitUnreachable;
  if (absl::IsCancelled(status)) return kExitDetached;
  return kExitRefused;
}

int ExitCodeOf(const v1::Run& run) {
  switch (run.state()) {
    case v1::RUN_STATE_SUCCEEDED:
      return kExitOk;
    case v1::RUN_STATE_CANCELLED:
      return kExitCancelled;
    case v1::RUN_STATE_TIMED_OUT:
      return kExitTimedOut;
    default:
      // A failure must never look like success, whatever code its ranks exited with.
      return run.exit_code() == 0 ? 1 : run.exit_code();
  }
}

}  // namespace hpc::client
