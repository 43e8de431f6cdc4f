// The worker's end of the process that makes its supervisors.
#ifndef HPC_WORKER_SUPERVISOR_SPAWN_H_
#define HPC_WORKER_SUPERVISOR_SPAWN_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/unique_fd.h"
#include "worker/supervisor/privileges.h"

namespace hpc::worker {

struct SpawnRequest {
  std::string dir;
  std::string spec;                   // encoded
  std::optional<AccountIds> account;  // to become first; else it stays ours
  std::string cgroup;                 // to be born in; "": ours
  int journal = -1, listener = -1;    // SupervisorFiles
  int recall = -1;                    // bound; -1: not recallable
};

struct SpawnedSupervisor {
  int64_t pid = 0;  // no child of ours; the kernel reaps it
  UniqueFd socket;  // our end of a SOCK_SEQPACKET pair; the supervisor's is its descriptor 3
};

// For one thread at a time.
class SupervisorSpawner {
 public:
  // `program`: hpc-supervisor, of our version.
  explicit SupervisorSpawner(std::string program) : program_(std::move(program)) {}
  // What it has made lives on.
  ~SupervisorSpawner();
  SupervisorSpawner(const SupervisorSpawner&) = delete;
  SupervisorSpawner& operator=(const SupervisorSpawner&) = delete;

  // In a session of its own, with default signals, an empty environment, the spec as its input, and
  // nothing of ours open. Starts fork_server.h's process first, if it does not run (again).
  // NotFound, PermissionDenied: the program cannot be executed. FailedPrecondition: it is of
  // another version. DeadlineExceeded: the process does not answer, and was killed.
  absl::StatusOr<SpawnedSupervisor> Spawn(const SpawnRequest& request);

 private:
  absl::Status Start();
  // errno, or 0.
  int Ask(const SpawnRequest& request, int spec, int socket) const;
  // *unread: it ended, and has not heard the question.
  absl::StatusOr<int64_t> Answer(const SpawnRequest& request, bool* unread);
  // Ends the process, and waits until it has.
  void End();

  const std::string program_;
  int pid_ = 0;      // of the process
  UniqueFd socket_;  // to it
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_SPAWN_H_
