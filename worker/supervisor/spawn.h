// Starts the supervisor program of an attempt dir.
#ifndef HPC_WORKER_SUPERVISOR_SPAWN_H_
#define HPC_WORKER_SUPERVISOR_SPAWN_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace hpc::worker {

struct SpawnedSupervisor {
  int64_t pid = 0;
  UniqueFd socket;  // our end of a SOCK_SEQPACKET pair; the supervisor's is its descriptor 3
  UniqueFd pidfd;   // readable when the supervisor has ended and waits to be reaped
};

// In a session of its own, with default signals, an empty environment, and nothing of ours open.
// NotFound, PermissionDenied: `program` cannot be run.
absl::StatusOr<SpawnedSupervisor> SpawnSupervisor(const std::string& program,
                                                  const std::string& dir);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_SPAWN_H_
