// hpc-coordinator: see `hpc-coordinator --help` and docs/DESIGN.md.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/files/coordinator_paths.h"
#include "common/pki/tls/lean_provider.h"
#include "common/process/lock_order.h"
#include "common/process/log.h"
#include "common/process/private_memory.h"
#include "coordinator/daemon.h"
#include "coordinator/options.h"
#include "coordinator/restore_command.h"

namespace {

int Restore(const hpc::coordinator::Options& options) {
  const absl::StatusOr<std::string> done =
      hpc::coordinator::RunRestoreCommand(options, hpc::RealClock().Get().wall);
  if (done.ok()) {
    fputs(done->c_str(), stdout);
    return 0;
  }
  fprintf(stderr, "hpc-coordinator: %s\n", std::string(done.status().message()).c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  hpc::KeepMemoryPrivate();
  hpc::TrustLockOrder();
  hpc::pki::UseLeanProvider();
  const hpc::coordinator::ParsedOptions parsed =
      hpc::coordinator::ParseOptions(argc, argv, hpc::DefaultCoordinatorPaths(geteuid(), getenv));
  if (parsed.answer) {
    fputs(parsed.answer->text.c_str(), parsed.answer->error ? stderr : stdout);
    return parsed.answer->error ? 2 : 0;
  }
  if (!parsed.options.restore_from.empty()) return Restore(parsed.options);
  const absl::Status status = hpc::coordinator::RunDaemon(parsed.options);
  if (!status.ok()) {
    hpc::LogError(absl::StrCat("the coordinator stops: ", status.message()));
    return 1;
  }
  hpc::LogInfo("coordinator stopped");
  return 0;
}
