// Carries out one attempt on this PC: checks, store, supervisor, and what comes from them.
#ifndef HPC_WORKER_ATTEMPTS_ATTEMPT_RUNNER_H_
#define HPC_WORKER_ATTEMPTS_ATTEMPT_RUNNER_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "worker/attempts/attempt_files.h"
#include "worker/attempts/attempt_launch.h"
#include "worker/attempts/peers/gang_witness.h"
#include "worker/attempts/peers/store_port.h"
#include "worker/attempts/prepare_plan.h"
#include "worker/core/messages.h"
#include "worker/loop/background.h"
#include "worker/loop/event_loop.h"
#include "worker/os/inventory.h"
#include "worker/os/seams.h"
#include "worker/supervision/supervisor_handle.h"

namespace hpc::worker {

// Hears what happens to an attempt. Never called from within a method of the runner.
class AttemptObserver {
 public:
  virtual ~AttemptObserver() = default;
  virtual void OnPrepared(const Prepared& prepared) = 0;
  virtual void OnEnvironment(const EnvironmentReport& report) = 0;
  virtual void OnRankStarted(AttemptRef ref, int32_t rank, int64_t pid, absl::Duration ago) = 0;
  virtual void OnRankExited(AttemptRef ref, int32_t rank, const RankExit& exit, RankAges ago) = 0;
  virtual void OnOutput(AttemptRef ref, const OutputGrown& output) = 0;
  virtual void OnRendezvous(const RendezvousReport& report) = 0;
  virtual void OnStoppedItself(AttemptRef ref, const Halt& halt) = 0;
  // It cannot go on and must be stopped.
  virtual void OnDoomed(AttemptRef ref, const std::string& reason) = 0;
  // All nodes of a witnessed attempt vouched for it `at`, of CLOCK_BOOTTIME.
  virtual void OnWhole(AttemptRef ref, MonoTime at) = 0;
  // Asked, not told: whether this node does. Also of a part that has returned.
  virtual Vouch VouchFor(AttemptRef ref) const = 0;
  // Nothing of it runs any more.
  virtual void OnReturned(AttemptRef ref, const Halt& halt) = 0;
};

// What every runner shares; outlives them.
struct RunnerContext {
  EventLoop* loop = nullptr;
  Background* disk = nullptr;    // may hang with a network disk
  Background* upkeep = nullptr;  // syncs and deletes, for which nobody waits
  Background* state = nullptr;   // may hang with the disk of the state directory
  Background* system = nullptr;  // depends on neither
  HostProbe* host = nullptr;
  PythonProbe* python = nullptr;
  AttemptObserver* observer = nullptr;
  std::string node;
  std::string state_dir;
  const Accounts* accounts = nullptr;
  // How long a supervisor may take beyond the grace before it is ended itself.
  absl::Duration obedience = absl::Seconds(10);
  std::string supervisor_program;
  // On `disk`, which may outlive us.
  std::shared_ptr<SupervisorSpawner> spawner;
  std::shared_ptr<SpareFolders> spares;  // nullptr: no folder is used again
  bool keep_supervisors = true;          // for the account's next attempt
  std::string hpc_py_dir;
  std::vector<std::string> own_env;
  std::vector<std::string> rank_env;
  bool has_rdma = false;
};

class AttemptRunner {
 public:
  AttemptRunner(const RunnerContext* context, AttemptRef ref);
  ~AttemptRunner();
  AttemptRunner(const AttemptRunner&) = delete;
  AttemptRunner& operator=(const AttemptRunner&) = delete;

  // Answered by OnPrepared, or OnReturned if it was stopped meanwhile. `lease`: how long the
  // supervisor may go without ExtendLease.
  void Prepare(const worker::Prepare& prepare, const Inventory& inventory, absl::Duration lease);
  // Finds the supervisor of an earlier worker again; what happened meanwhile is told as if it
  // happened now, with its true age.
  void Adopt(const AttemptFile& file);

  // `vouch_limit`: how long the nodes of a witnessed attempt count as whole after they were.
  void Start(const worker::Start& start, absl::Duration vouch_limit);
  // `halt`: why this node itself wants it.
  void Stop(absl::Duration grace, const std::string& reason, HaltKind halt);
  void ExtendLease();
  // The ranks may live until then, of CLOCK_BOOTTIME. Their supervisor sees to it, and is ended
  // with them if it does not.
  void SetFence(int64_t at_ns);
  // Tells the observer once more what a coordinator that was restarted may have lost: what the
  // ranks were started with, and who has reached the rendezvous store, if it is served here.
  void ReportAgain();
  // What each rank that runs is doing, and each process that cannot be ended, until there are
  // `most`.
  void AddDoing(size_t most, std::vector<RankDoing>* doing) const;
  // Whether its supervisor is idle, and it was seen that nothing is left.
  bool proved_gone() const { return proved_gone_; }

 private:
  PrepareContext MakeContext(const worker::Prepare& prepare, const Inventory& inventory) const;
  void OnLaunch(Prepared prepared, worker::Launch launch);
  void SyncFilesSoon();
  absl::Status OpenStore(Prepared* prepared);
  void ReopenStore();
  void BeginWitnessing(const WitnessRecord& record);
  void RecordArrivals(int32_t arrived);
  void WriteArrivals();
  SupervisorClient::Callbacks MakeCallbacks();
  void ExpectEnd(absl::Duration grace);
  void WatchFence();
  void OnFencePassed();
  // Ends without ever having run anything. `status`: why, unless it was stopped.
  void RollBack(const absl::Status& status);
  // Does not wait any longer for a disk that hangs: nothing runs yet, nor will it.
  void AbandonPreparation();

  void OnEvent(const SupervisorEvent& event);
  void On(const SupervisorReady& event);
  void On(const RankStarted& event);
  void On(const RankStartFailed& event);
  void On(const RankExited& event);
  void On(const Looked& event) { looked_ns_ = event.at_ns; }
  void On(const OutputGrown& event);
  void On(const StopBegan& event);
  void On(const AllGone& event);
  void On(const NotGone& event);
  void On(const Shortage& event);
  void OnLost(const std::string& reason);
  // The supervisor is gone, as is found now.
  void TakeLoss(const std::string& reason);
  void KillLeftoversUntilGone();
  void GiveBackSupervisor(bool alone);
  void ReportRendezvous();

  // A failed rank whose last words may still be on their way to the file.
  struct PendingExit {
    int64_t within_ns = 0;  // it may have ended so much before at_ns
    RankExit exit;
    int64_t at_ns = 0;
    EventLoop::TimerId timer = 0;
  };
  void ReportExit(int32_t rank);
  void ReportAllExits();
  void Returned(const Halt& halt);

  const RunnerContext* const context_;
  const AttemptRef ref_;
  const std::string dir_;         // of the ranks
  const std::string record_dir_;  // ours
  worker::Prepare prepare_;
  int32_t first_rank_ = 0;
  int32_t ranks_ = 0;
  Inventory inventory_;
  PreparePlan plan_;
  std::optional<EnvironmentReport> environment_;  // once they are started
  StorePort store_;
  std::optional<StoreRecord> store_record_;
  std::unique_ptr<StoreServer> keepalives_;  // where the store was lost with an earlier worker
  std::unique_ptr<GangWitness> witness_;
  std::unique_ptr<SupervisorClient> supervisor_;
  std::optional<SpawnedSupervisor> left_;  // of it, when it was over
  std::string held_cgroup_;                // still for us
  bool proved_gone_ = false;
  std::map<int32_t, RankStarted> started_;  // by rank
  std::map<int32_t, PendingExit> pending_;
  std::set<int32_t> ended_;         // ranks
  std::vector<int64_t> survivors_;  // processes that have survived SIGKILL so far
  bool arrivals_unwritten_ = false;
  bool arrivals_on_way_ = false;
  bool preparing_ = false;
  bool abandoned_ = false;  // while it was
  bool stopped_ = false;
  int64_t looked_ns_ = 0;  // as the supervisor last said
  Halt lost_;              // of the supervisor, at lost_at_
  MonoTime lost_at_{};
  // For the thread that prepares.
  const std::shared_ptr<std::atomic<bool>> unwanted_ = std::make_shared<std::atomic<bool>>(false);
  bool not_gone_logged_ = false;
  EventLoop::TimerId sync_timer_ = 0;
  EventLoop::TimerId retry_ = 0;
  EventLoop::TimerId patience_ = 0;
  int64_t fence_ns_ = 0;
  EventLoop::TimerId fence_timer_ = 0;
  EventLoop::TimerId obedience_ = 0;
  MonoTime obedience_limit_;
  // Callbacks that outlive the runner look at this first.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_ATTEMPTS_ATTEMPT_RUNNER_H_
