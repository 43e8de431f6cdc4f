// hpc-worker: the daemon of a PC, the command with which the PC joins a cluster, and the owner's
// commands.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "common/clock.h"
#include "common/pki/join_token.h"
#include "common/pki/tls/lean_provider.h"
#include "common/process/lock_order.h"
#include "common/process/private_memory.h"
#include "worker/command_line.h"
#include "worker/daemon.h"
#include "worker/join_command.h"
#include "worker/link/quiet_engine.h"
#include "worker/owner_command.h"
#include "worker/state_dirs.h"
#include "worker/worker_unit.h"

int main(int argc, char** argv) {
  using hpc::worker::CommandLine;
  hpc::KeepMemoryPrivate();
  hpc::TrustLockOrder();
  hpc::pki::UseLeanProvider();
  hpc::worker::UseQuietEngine();
  const auto command =
      hpc::worker::ParseCommandLine(argc, argv, hpc::worker::DefaultStateDirs(geteuid(), getenv));
  if (absl::IsCancelled(command.status())) {
    std::printf("%s\n", std::string(command.status().message()).c_str());
    return 0;
  }
  hpc::pki::HideTokens(argc, argv);
  absl::Status status = command.status();
  if (status.ok() && command->command == CommandLine::Command::kDaemon) {
    status = hpc::worker::RunDaemon(*command);
  } else if (status.ok()) {
    const auto text = command->command == CommandLine::Command::kJoin
                          ? hpc::worker::RunJoinCommand(*command, hpc::RealClock().Get().wall,
                                                        &hpc::worker::StartWorkerUnit)
                          : hpc::worker::RunOwnerCommand(*command);
    if (text.ok()) std::fputs(text->c_str(), stdout);
    status = text.status();
  }
  if (status.ok()) return 0;
  std::fprintf(stderr, "hpc-worker: %s\n", std::string(status.message()).c_str());
  return command.ok() ? 1 : 2;
}
