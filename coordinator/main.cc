// hpc-coordinator: see `hpc-coordinator --help` and docs/DESIGN.md.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/coordinator_paths.h"
#include "common/log.h"
#include "coordinator/daemon.h"
#include "coordinator/options.h"

int main(int argc, char** argv) {
  const hpc::coordinator::ParsedOptions parsed =
      hpc::coordinator::ParseOptions(argc, argv, hpc::DefaultCoordinatorPaths(geteuid(), getenv));
  if (parsed.answer) {
    fputs(parsed.answer->text.c_str(), parsed.answer->error ? stderr : stdout);
    return parsed.answer->error ? 2 : 0;
  }
  const absl::Status status = hpc::coordinator::RunDaemon(parsed.options);
  if (!status.ok()) {
    hpc::LogError(absl::StrCat("the coordinator stops: ", status.message()));
    return 1;
  }
  hpc::LogInfo("coordinator stopped");
  return 0;
}
