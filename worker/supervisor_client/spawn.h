// The supervisors of a worker that have no attempt: those that wait for one, and the process that
// makes more of them.
#ifndef HPC_WORKER_SUPERVISOR_CLIENT_SPAWN_H_
#define HPC_WORKER_SUPERVISOR_CLIENT_SPAWN_H_

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

// A supervisor that waits for an order. Once its socket is closed, it ends by itself when it has
// nothing to do.
struct SpawnedSupervisor {
  int64_t pid = 0;  // not a child of ours; the kernel reaps it
  UniqueFd socket;  // our end of a SOCK_SEQPACKET pair
  int64_t number = 0;
  bool has_served = false;            // whether it has had an attempt before
  std::string listener;               // path of the socket at which it is found
  std::optional<AccountIds> account;  // the account it works as; not set: ours
  std::string command;  // of the attempts that it keeps a warm parent for; "": of none
  std::string cgroup_parent, cgroup;  // wished for; the one held for it (held_cgroup.h), or ""
};

class SupervisorSpawner {
 public:
  // `program` is the hpc-supervisor of our version. `folder` is for the sockets of supervisors, and
  // is ours alone; what another worker has left there is deleted.
  SupervisorSpawner(std::string program, std::string folder);
  // Supervisors that have an attempt live on.
  ~SupervisorSpawner();
  SupervisorSpawner(const SupervisorSpawner&) = delete;
  SupervisorSpawner& operator=(const SupervisorSpawner&) = delete;

  // Returns a supervisor that waits, or a new one. It is in a session of its own, with default
  // signals, an empty environment and no open files of ours. A new one for another account is born
  // in a cgroup that is held for it below `cgroup_parent` ("": ours, if that is writable). With
  // `scoped` it is not, since systemd will be asked for a scope. One that had the
  // same `command` before is preferred, else one that keeps nothing. Starts the process of
  // fork_server.h first if it does not run. May be called from one thread at a time. NotFound,
  // PermissionDenied: the program cannot be executed. FailedPrecondition: it is of another version.
  // DeadlineExceeded: the process did not answer, and was killed.
  absl::StatusOr<SpawnedSupervisor> Spawn(const std::optional<AccountIds>& account,
                                          const std::string& cgroup_parent, bool scoped,
                                          const std::string& command = "");

  // Keeps a supervisor of another account that has said it is idle (order.h). From here on, methods
  // may be called from any thread.
  void Keep(SpawnedSupervisor idle, MonoTime until);
  // Ends the supervisors that were kept until `now` or less. Returns whether others wait.
  bool EndIdle(MonoTime now);
  // Ends a supervisor, and what is in the cgroup that is held for it. Waits for that for half a
  // second at most.
  static void End(SpawnedSupervisor idle);

 private:
  struct Idle {
    SpawnedSupervisor supervisor;
    MonoTime until;
  };
  std::optional<SpawnedSupervisor> TakeIdle(const std::optional<AccountIds>& account,
                                            const std::string& cgroup_parent,
                                            const std::string& command);
  absl::StatusOr<SpawnedSupervisor> Make(const std::optional<AccountIds>& account,
                                         const std::string& cgroup_parent, bool scoped);
  absl::Status Start();
  // Returns its pid. *unread: the process ended without reading the request.
  absl::StatusOr<int64_t> Ask(const SpawnedSupervisor& wanted, int listener, int socket);
  absl::StatusOr<int64_t> Answer(const std::string& cgroup, bool* unread);
  // Ends the process, and waits until it has ended.
  void EndProcess();

  const std::string program_;
  const std::string folder_;
  bool begun_ = false;
  int64_t next_ = 0;  // number of the next supervisor
  int pid_ = 0;       // pid of the process
  UniqueFd socket_;   // leads to the process
  std::mutex mutex_;
  std::deque<Idle> idle_;  // guarded by the mutex; the last one to come is used first
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_CLIENT_SPAWN_H_
