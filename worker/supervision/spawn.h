// The worker's supervisors that have no attempt: those that wait for one, and the process that
// makes more.
#ifndef HPC_WORKER_SUPERVISION_SPAWN_H_
#define HPC_WORKER_SUPERVISION_SPAWN_H_

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/unique_fd.h"
#include "worker/supervisor/os/privileges.h"

namespace hpc::worker {

// Waits for an order. Once its socket is closed it ends by itself, when it has nothing to do.
struct SpawnedSupervisor {
  int64_t pid = 0;  // no child of ours; the kernel reaps it
  UniqueFd socket;  // our end of a SOCK_SEQPACKET pair
  int64_t number = 0;
  bool has_served = false;            // an attempt, before the one that it is for
  std::string listener;               // path of the socket that it is found at
  std::optional<AccountIds> account;  // that it works as; not set: ours
  std::string cgroup_parent, cgroup;  // wished for; that is held for it (held_cgroup.h), or ""
};

class SupervisorSpawner {
 public:
  // `program`: hpc-supervisor, of our version. `folder`: for the sockets of supervisors, of ours
  // alone; what another worker has left there is deleted.
  SupervisorSpawner(std::string program, std::string folder);
  // What has an attempt lives on.
  ~SupervisorSpawner();
  SupervisorSpawner(const SupervisorSpawner&) = delete;
  SupervisorSpawner& operator=(const SupervisorSpawner&) = delete;

  // One that waits, or a new one: in a session of its own, with default signals, an empty
  // environment and nothing of ours open. A new one of another account is born in a cgroup that is
  // held for it below `cgroup_parent` ("": ours, if that is writable), unless `scoped`: systemd
  // will be asked for one. Starts fork_server.h's process first, if it does not run (again). For
  // one thread at a time. NotFound, PermissionDenied: the program cannot be executed.
  // FailedPrecondition: it is of another version. DeadlineExceeded: the process does not answer,
  // and was killed.
  absl::StatusOr<SpawnedSupervisor> Spawn(const std::optional<AccountIds>& account,
                                          const std::string& cgroup_parent, bool scoped);

  // For any thread from here on. One of another account that has said it is idle (order.h).
  void Keep(SpawnedSupervisor idle, MonoTime now);
  // Ends those that have waited since then or before. Whether others wait.
  bool EndIdle(MonoTime since);
  // Ends one, and what is in the cgroup that is held for it; waits for that for half a second.
  static void End(SpawnedSupervisor idle);

 private:
  struct Idle {
    SpawnedSupervisor supervisor;
    MonoTime since;
  };
  std::optional<SpawnedSupervisor> TakeIdle(const std::optional<AccountIds>& account,
                                            const std::string& cgroup_parent);
  absl::StatusOr<SpawnedSupervisor> Make(const std::optional<AccountIds>& account,
                                         const std::string& cgroup_parent, bool scoped);
  absl::Status Start();
  // Its pid. *unread: the process ended, and has not heard the question.
  absl::StatusOr<int64_t> Ask(const SpawnedSupervisor& wanted, int listener, int socket);
  absl::StatusOr<int64_t> Answer(const std::string& cgroup, bool* unread);
  // Ends the process, and waits until it has.
  void EndProcess();

  const std::string program_;
  const std::string folder_;
  bool begun_ = false;
  int64_t next_ = 0;  // number
  int pid_ = 0;       // of the process
  UniqueFd socket_;   // to it
  std::mutex mutex_;
  std::deque<Idle> idle_;  // under the mutex; the last to come is the first to go
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISION_SPAWN_H_
