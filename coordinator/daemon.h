// The coordinator as a process. This puts its parts together and runs them until it is told to
// stop.
#ifndef HPC_COORDINATOR_DAEMON_H_
#define HPC_COORDINATOR_DAEMON_H_

#include "absl/status/status.h"
#include "coordinator/options.h"

namespace hpc::coordinator {

// Returns OK after SIGTERM or SIGINT. Otherwise says in one line why it could not start or go on.
absl::Status RunDaemon(const Options& options);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_DAEMON_H_
