#include "client/cli/commands/runs/each_run.h"

#include "absl/strings/string_view.h"
#include "client/cli/exit_codes.h"

namespace hpc::client {

absl::StatusOr<int> ForEachRun(Session* session, const std::vector<int64_t>& runs,
                               absl::FunctionRef<absl::Status(int64_t run)> act) {
  int code = kExitOk;
  for (const int64_t run : runs) {
    const absl::Status done = act(run);
    if (done.ok()) continue;
    if (runs.size() == 1 || absl::IsUnavailable(done) || absl::IsCancelled(done)) return done;
    session->Notice(absl::string_view(done.message()));
    code = ExitCodeOf(done);
  }
  return code;
}

}  // namespace hpc::client
