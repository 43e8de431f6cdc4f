#include "worker/worker_unit.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "worker/os/run_command.h"

namespace hpc::worker {
namespace {

constexpr std::array kUnits = {"/etc/systemd/system/hpc-worker.service",
                               "/usr/lib/systemd/system/hpc-worker.service"};
// systemd makes this folder when it boots the machine.
constexpr char kSystemdRuns[] = "/run/systemd/system";

bool Exists(const char* path) { return access(path, F_OK) == 0; }

}  // namespace

absl::Status StartWorkerUnit() {
  const bool installed = std::any_of(kUnits.begin(), kUnits.end(), Exists);
  if (!installed || !Exists(kSystemdRuns) || geteuid() != 0) {
    return absl::NotFoundError("no systemd unit hpc-worker that this account may start");
  }
  HPC_ASSIGN_OR_RETURN(const CommandResult result,
                       RunCommand({.program = "/usr/bin/systemctl",
                                   .argv = {"systemctl", "enable", "--now", "hpc-worker"},
                                   .env = OwnEnvironment(),
                                   .limit = absl::Seconds(60)}));
  if (result.ok()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("systemctl enable --now hpc-worker failed with ", result.HowItEnded(), ": ",
                   result.LastWords(), ". See journalctl -u hpc-worker"));
}

}  // namespace hpc::worker
