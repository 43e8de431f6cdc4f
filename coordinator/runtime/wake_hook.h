// Wakes PCs with a command that the administrator provides. It is for PCs that magic packets cannot
// wake: those behind a smart plug, a virtual machine, a management controller.
#ifndef HPC_COORDINATOR_RUNTIME_WAKE_HOOK_H_
#define HPC_COORDINATOR_RUNTIME_WAKE_HOOK_H_

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "coordinator/runtime/engine.h"

namespace hpc::coordinator {

class WakeHook final : public WakeSender {
 public:
  // `command` is run by /bin/sh with HPC_NODE (its name), HPC_MACS (separated by spaces) and
  // HPC_WAKE_PACKET (0, 1, 2 ... of this wake-up) added to the environment.
  explicit WakeHook(std::string command) : command_(std::move(command)) {}

  // Starts the command and does not wait for it; a later call logs how it ended. A hook that still
  // runs for the same node is not started again.
  absl::Status Wake(const WakeNode& wake) override;
  bool WakesAnyNode() const override { return true; }

  // Reaps the hooks that have ended. Returns how many still run.
  size_t Reap();

 private:
  std::string command_;
  std::map<std::string, pid_t> running_;  // by node
};

// The variables that the hook adds to the environment, as "NAME=value".
std::vector<std::string> WakeHookEnvironment(const WakeNode& wake);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RUNTIME_WAKE_HOOK_H_
