// The worker's end of one supervisor. It spawns the supervisor, or finds it again after a restart
// of the worker.
#ifndef HPC_WORKER_SUPERVISOR_CLIENT_SUPERVISOR_HANDLE_H_
#define HPC_WORKER_SUPERVISOR_CLIENT_SUPERVISOR_HANDLE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/loop/event_loop.h"
#include "worker/supervisor/os/privileges.h"
#include "worker/supervisor/protocol/spec.h"
#include "worker/supervisor_client/spawn.h"

namespace hpc::worker {

// A supervisor that has its order, and to which nobody listens yet.
struct LaunchedSupervisor {
  SpawnedSupervisor process;
  std::string dir;    // the attempt dir
  std::string scope;  // to be asked for from systemd; "": none
};

class SupervisorClient {
 public:
  // `on_event` is called on the loop for each event, in order. `on_lost` is called once after that
  // if the supervisor's end closes without AllGone, because it was killed. If it is dead but hangs
  // in an access to a disk, `on_lost` is called half a second after it was told something; its
  // ranks died with it. Neither is called from within Take, Attach, Send or Kill, nor after the
  // client is destroyed. Destroying the client leaves the supervisor running.
  struct Callbacks {
    std::function<void(const SupervisorEvent&)> on_event;
    std::function<void(const std::string& reason)> on_lost;  // LossInWords
  };

  // Lets a waiting supervisor, or a new one, begin, and does not wait for it. To be called on the
  // spawner's thread, since this may wait for a disk. `account` is the one that it and its ranks
  // run as, and to which spec.dir belongs; not set: ours (then spec.dir is made if missing). The
  // ranks do not run before Send(StartRanks). `recall` is a bound socket if spec.recall_key is set,
  // otherwise -1. AlreadyExists: the attempt has a supervisor.
  static absl::StatusOr<LaunchedSupervisor> Launch(SupervisorSpawner* spawner,
                                                   const SupervisorSpec& spec,
                                                   const std::optional<AccountIds>& account,
                                                   int recall);
  // From now on the supervisor is heard on `loop`.
  static std::unique_ptr<SupervisorClient> Take(EventLoop* loop, LaunchedSupervisor launched,
                                                Callbacks callbacks);

  // Connects to the supervisor that serves `dir`. Its journal is replayed first, so `on_event` sees
  // everything that has happened (OutputGrown in its present state). NotFound: no supervisor
  // answers there any more; ReadJournal can read its journal.
  static absl::StatusOr<std::unique_ptr<SupervisorClient>> Attach(EventLoop* loop,
                                                                  const std::string& dir,
                                                                  Callbacks callbacks);
  virtual ~SupervisorClient() = default;

  // Unavailable: the supervisor is gone (on_lost has been or will be called). For StopRanks, a
  // supervisor that a signal has stopped is made to continue.
  virtual absl::Status Send(const SupervisorCommand& command) = 0;

  // Kills a supervisor that does not do as it is told; on_lost follows.
  virtual void Kill() = 0;

  // The cgroup that is held for the supervisor (held_cgroup.h), or "".
  virtual const std::string& held_cgroup() const = 0;
  // To be called once, after AllGone or on_lost. Returns what is left of a supervisor that was
  // launched, for Keep or End of SupervisorSpawner. A supervisor that was found again ends by
  // itself.
  virtual std::optional<SpawnedSupervisor> Release() = 0;
};

// Whether there is a supervisor for the attempt of that dir.
bool HasSupervisor(const std::string& dir);

// What the journal of an attempt tells: RankStarted, RankStartFailed, RankExited, StopBegan and
// AllGone in order, and OutputGrown from the present files. A torn last line is ignored.
absl::StatusOr<std::vector<SupervisorEvent>> ReadJournal(const std::string& dir);

// For example "the disk is full: write rank-0.out: No space left on device".
std::string InWords(const Shortage& shortage);
// The last shortage in a journal that is not over; "": there is none.
std::string ShortageInWords(const std::vector<SupervisorEvent>& journal);
// What people are told about a supervisor that ended before its attempt did: it was killed, or it
// lacked something (`shortage`; "": it did not).
std::string LossInWords(const std::string& shortage);
// The last line of its log, which may name paths of this PC; "": there is none.
std::string LastWords(const std::string& dir);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_CLIENT_SUPERVISOR_HANDLE_H_
