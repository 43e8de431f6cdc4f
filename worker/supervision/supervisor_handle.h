// The worker's end of one supervisor: spawns it, or finds it again after a restart of the worker.
#ifndef HPC_WORKER_SUPERVISION_SUPERVISOR_HANDLE_H_
#define HPC_WORKER_SUPERVISION_SUPERVISOR_HANDLE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/loop/event_loop.h"
#include "worker/supervision/spawn.h"
#include "worker/supervisor/os/privileges.h"
#include "worker/supervisor/protocol/spec.h"

namespace hpc::worker {

// One that has its order and that nobody listens to yet.
struct LaunchedSupervisor {
  SpawnedSupervisor process;
  std::string dir;    // of its spec
  std::string scope;  // that systemd is to be asked for; "": none
};

class SupervisorClient {
 public:
  // `on_event` is called on the loop for each event, in order, and then `on_lost` once if the
  // supervisor's end closes without AllGone (killed), or half a second after it was told something
  // if all that is left of it is held up by a disk: its ranks died with it. Neither is called from
  // within Take, Attach, Send or Kill, nor after the client is destroyed. Destroying it leaves the
  // supervisor running.
  struct Callbacks {
    std::function<void(const SupervisorEvent&)> on_event;
    std::function<void(const std::string& reason)> on_lost;  // LossInWords
  };

  // Has one that waits, or a new one, begin and does not wait for it; on the spawner's thread,
  // since this may wait for a disk. `account`: the one that it and its ranks run as, which spec.dir
  // belongs to; not set: ours (spec.dir is made if missing). The ranks do not run before
  // Send(StartRanks). `recall`: bound, if spec.recall_key is set; else -1. AlreadyExists: the
  // attempt has one.
  static absl::StatusOr<LaunchedSupervisor> Launch(SupervisorSpawner* spawner,
                                                   const SupervisorSpec& spec,
                                                   const std::optional<AccountIds>& account,
                                                   int recall);
  // What it says is heard on `loop` from now on.
  static std::unique_ptr<SupervisorClient> Take(EventLoop* loop, LaunchedSupervisor launched,
                                                Callbacks callbacks);

  // Connects to the supervisor that serves `dir`; its journal is replayed first, so that on_event
  // sees all that has happened (OutputGrown as it stands now). NotFound: none answers there any
  // more: read its journal with ReadJournal.
  static absl::StatusOr<std::unique_ptr<SupervisorClient>> Attach(EventLoop* loop,
                                                                  const std::string& dir,
                                                                  Callbacks callbacks);
  virtual ~SupervisorClient() = default;

  // Unavailable: it is gone (on_lost has been or will be called). One that a signal has stopped is
  // made to go on for StopRanks.
  virtual absl::Status Send(const SupervisorCommand& command) = 0;

  // Ends a supervisor that does not do as it is told; on_lost follows.
  virtual void Kill() = 0;

  // The cgroup that is held for it (held_cgroup.h), or "".
  virtual const std::string& held_cgroup() const = 0;
  // After AllGone or on_lost, once: what is left of one that was launched, for SupervisorSpawner's
  // Keep or End. One that was found again ends by itself.
  virtual std::optional<SpawnedSupervisor> Release() = 0;
};

// Whether a supervisor is there for the attempt of that dir.
bool HasSupervisor(const std::string& dir);

// What the journal of an attempt tells: RankStarted, RankStartFailed, RankExited, StopBegan and
// AllGone in order, and OutputGrown from the files as they are. A torn last line is ignored.
absl::StatusOr<std::vector<SupervisorEvent>> ReadJournal(const std::string& dir);

// "the disk is full: write rank-0.out: No space left on device".
std::string InWords(const Shortage& shortage);
// Of the last one in a journal that is not over; "": there is none.
std::string ShortageInWords(const std::vector<SupervisorEvent>& journal);
// What people are told of a supervisor that ended before its attempt did: it was killed, or lacked
// something ("": it did not).
std::string LossInWords(const std::string& shortage);
// The last line of its log, which may name paths of this PC; "": there is none.
std::string LastWords(const std::string& dir);

// Before an attempt is called gone, whatever its supervisor said or did not live to say: looks for
// what is left of it, which may have lost its files, and kills that and the supervisor with it.
// `seen`: ranks that the caller saw start. `held`: the cgroup that is still held for it, where the
// caller knows. May take half a second. OK: nothing is left. Where a
// cgroup or scope held it that is seen by its being empty. Where none did, by the supervisor's
// journal, since it waits for all descendants before it writes AllGone; and should it have been
// killed before that: the ranks died with it, their sessions and all that carries their environment
// are gone, and nobody can find more.
// DeadlineExceeded: something survives SIGKILL, so its device is not returned; ask again.
absl::Status KillLeftovers(const std::string& attempt, const std::string& dir,
                           const std::vector<RankStarted>& seen, const std::string& held = "");

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISION_SUPERVISOR_HANDLE_H_
