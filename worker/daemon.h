// Puts the worker daemon together.
#ifndef HPC_WORKER_DAEMON_H_
#define HPC_WORKER_DAEMON_H_

#include "absl/status/status.h"
#include "worker/command_line.h"

namespace hpc::worker {

// Runs until SIGTERM or SIGINT. An error means that it could not start; the message says why and
// what to do.
absl::Status RunDaemon(const CommandLine& command);

}  // namespace hpc::worker

#endif  // HPC_WORKER_DAEMON_H_
