// Starts the supervisor program of an attempt dir.
#ifndef HPC_WORKER_SUPERVISOR_SPAWN_H_
#define HPC_WORKER_SUPERVISOR_SPAWN_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"
#include "worker/supervisor/privileges.h"

namespace hpc::worker {

struct SpawnRequest {
  std::string program;
  std::string dir;
  std::string spec;                   // encoded
  std::optional<AccountIds> account;  // to become first; else it stays ours
  std::string cgroup;                 // to be born in; "": ours
  int journal = -1, listener = -1;    // SupervisorFiles
  int recall = -1;                    // bound; -1: not recallable
};

struct SpawnedSupervisor {
  int64_t pid = 0;
  UniqueFd socket;  // our end of a SOCK_SEQPACKET pair; the supervisor's is its descriptor 3
  UniqueFd pidfd;   // readable when the supervisor has ended and waits to be reaped
};

// In a session of its own, with default signals, an empty environment, the spec as its input, and
// nothing of ours open. Returns once the program is executed. NotFound, PermissionDenied: it cannot
// be.
absl::StatusOr<SpawnedSupervisor> SpawnSupervisor(const SpawnRequest& request);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_SPAWN_H_
