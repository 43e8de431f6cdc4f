#include "worker/join_command.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "common/state_dir.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "member/admission.h"
#include "member/join.h"
#include "worker/way.h"

namespace hpc::worker {
namespace {

std::string HowToStart(const CommandLine& command) {
  if (!command.usual_state_dir) return "hpc-worker --state-dir " + command.state_dir;
  for (const char* unit :
       {"/etc/systemd/system/hpc-worker.service", "/usr/lib/systemd/system/hpc-worker.service"}) {
    if (access(unit, F_OK) == 0) return "systemctl enable --now hpc-worker";
  }
  return "hpc-worker";
}

absl::Status WithWayOut(const absl::Status& status, const CommandLine& command) {
  if (!absl::IsPermissionDenied(status)) return status;
  return absl::PermissionDeniedError(absl::StrCat(
      status.message(), command.usual_state_dir
                            ? ". Run it as root (sudo), or keep the worker's files elsewhere with "
                              "--state-dir"
                            : ""));
}

}  // namespace

absl::StatusOr<std::string> RunJoinCommand(const CommandLine& command, absl::Time now) {
  HPC_ASSIGN_OR_RETURN(const pki::JoinToken token,
                       member::ReadToken(command.token, member::Door::kWorker));
  // Before the lock: who is a member already most likely runs a worker, which is not the problem.
  HPC_RETURN_IF_ERROR(
      member::CheckNotMember(absl::StrCat(command.state_dir, "/", kIdentityFolder), token));
  const absl::StatusOr<StateDir> state_dir = StateDir::Open(command.state_dir, "worker");
  if (!state_dir.ok()) return WithWayOut(state_dir.status(), command);
  HPC_ASSIGN_OR_RETURN(const member::Joined joined,
                       member::Join(token, command.name.empty() ? HostName() : command.name,
                                    state_dir->File(kIdentityFolder), now));
  std::string said;
  for (const std::string& passed_over : joined.passed_over) {
    absl::StrAppend(&said, "passed over ", passed_over, "\n");
  }
  return absl::StrCat(said, joined.holder.identity.name, " is a member of the cluster at ",
                      joined.coordinator.ToString(), "; start its worker: ", HowToStart(command),
                      "\n");
}

}  // namespace hpc::worker
