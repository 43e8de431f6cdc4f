// The coordinator as a process: puts its parts together and runs until it is told to stop.
#ifndef HPC_COORDINATOR_DAEMON_H_
#define HPC_COORDINATOR_DAEMON_H_

#include "absl/status/status.h"
#include "coordinator/options.h"

namespace hpc::coordinator {

// OK after SIGTERM or SIGINT. Else why it could not start or go on, in one line.
absl::Status RunDaemon(const Options& options);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_DAEMON_H_
