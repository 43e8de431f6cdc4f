// Carries out one attempt on this PC: the checks, the store, the supervisor, and what comes from
// them.
#ifndef HPC_WORKER_ATTEMPTS_ATTEMPT_RUNNER_H_
#define HPC_WORKER_ATTEMPTS_ATTEMPT_RUNNER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "protocol/coordinator_message.h"
#include "protocol/node_report.h"
#include "protocol/worker_message.h"
#include "worker/attempts/attempt_files.h"
#include "worker/attempts/attempt_launch.h"
#include "worker/attempts/fence_watch.h"
#include "worker/attempts/peers/gang_services.h"
#include "worker/attempts/prepare_plan.h"
#include "worker/attempts/rank_watch.h"
#include "worker/core/effects.h"
#include "worker/loop/background.h"
#include "worker/loop/event_loop.h"
#include "worker/os/inventory.h"
#include "worker/os/seams.h"
#include "worker/supervisor_client/supervisor_handle.h"

namespace hpc::worker {

// Is told what happens to an attempt. It is never called from within a method of the runner.
class AttemptObserver {
 public:
  virtual ~AttemptObserver() = default;
  virtual void OnPrepared(const protocol::Prepared& prepared) = 0;
  virtual void OnEnvironment(const protocol::EnvironmentReport& report) = 0;
  virtual void OnRankStarted(AttemptRef ref, int32_t rank, int64_t pid, absl::Duration ago) = 0;
  virtual void OnRankExited(AttemptRef ref, int32_t rank, const protocol::RankExit& exit,
                            protocol::RankAges ago) = 0;
  virtual void OnOutput(AttemptRef ref, const OutputGrown& output) = 0;
  virtual void OnRendezvous(const protocol::RendezvousReport& report) = 0;
  virtual void OnStoppedItself(AttemptRef ref, const protocol::Halt& halt) = 0;
  // The attempt cannot go on and must be stopped.
  virtual void OnDoomed(AttemptRef ref, const std::string& reason) = 0;
  // All nodes of a witnessed attempt vouched for it at the time `at` of CLOCK_BOOTTIME.
  virtual void OnWhole(AttemptRef ref, MonoTime at) = 0;
  // They were heard at that time, whether or not they vouched.
  virtual void OnHeardAll(AttemptRef ref, MonoTime at) = 0;
  // A question, not a report: whether this node vouches for the attempt. It is also asked about a
  // part that has returned.
  virtual Vouch VouchFor(AttemptRef ref) const = 0;
  // Nothing of the attempt runs any more.
  // `killed`: how many of its processes needed SIGKILL to end.
  virtual void OnReturned(AttemptRef ref, const protocol::Halt& halt, int32_t killed) = 0;
};

// What all runners share. It outlives them.
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
  // How long a supervisor may take beyond the grace before it is killed.
  absl::Duration obedience = absl::Seconds(10);
  std::string supervisor_program;
  // Used on `disk`, which may outlive us.
  std::shared_ptr<SupervisorSpawner> spawner;
  std::shared_ptr<SpareFolders> spares;  // nullptr: no folder is used again
  bool keep_supervisors = true;          // for the account's next attempt
  absl::Duration keep_idle = absl::Seconds(30);
  absl::Duration keep_warm = absl::Minutes(5);  // one that keeps a warm parent; zero: none does
  std::string hpc_py_dir;
  std::vector<std::string> own_env;
  std::vector<std::string> rank_env;
  bool has_rdma = false;
  bool has_amd_gpu = false;
};

class AttemptRunner {
 public:
  AttemptRunner(const RunnerContext* context, AttemptRef ref);
  ~AttemptRunner();
  AttemptRunner(const AttemptRunner&) = delete;
  AttemptRunner& operator=(const AttemptRunner&) = delete;

  // The answer is OnPrepared, or OnReturned if the attempt was stopped meanwhile. `lease`: how long
  // the supervisor may go without ExtendLease.
  void Prepare(const protocol::Prepare& prepare, const protocol::Inventory& inventory,
               absl::Duration lease);
  // Finds the supervisor of an earlier worker again. What happened meanwhile is reported as if it
  // happened now, with its true age.
  void Adopt(const AttemptFile& file);

  // `vouch_limit`: how long a witnessed attempt counts as whole after all of its nodes vouched for
  // it.
  void Start(const protocol::Start& start, absl::Duration vouch_limit);
  // `halt`: why this node itself stops the attempt.
  void Stop(const StopAttempt& order);
  void ExtendLease();
  // The owner wants the PC: nothing is kept for another attempt.
  void KeepNothing();
  // The ranks may live until the time `at_ns` of CLOCK_BOOTTIME. Their supervisor enforces this. If
  // it does not, it is killed together with them.
  void SetFence(int64_t at_ns);
  // Tells the observer once more what a restarted coordinator may have lost: with which environment
  // the ranks were started, and who has reached the rendezvous store, if it is served here.
  void ReportAgain();
  // Adds what each running rank is doing, and each process that cannot be killed, until `most` are
  // said; and whether the worker of rank 0 answers.
  void Describe(size_t most, protocol::Heartbeat* beat) const;
  // What this node does for the others of the gang, until the attempt is over on all of them.
  GangServices& services() { return gang_; }
  // Whether the supervisor is idle, and nothing was seen to be left.
  bool proved_gone() const { return proved_gone_; }

 private:
  PrepareContext MakeContext(const protocol::Prepare& prepare,
                             const protocol::Inventory& inventory) const;
  void OnLaunch(protocol::Prepared prepared, worker::Launch launch);
  void ReportEnvironment();
  void SyncFilesSoon();
  GangServices::Callbacks MakeGangCallbacks();
  absl::Status OpenStore(protocol::Prepared* prepared);
  void ReopenServices();
  SupervisorClient::Callbacks MakeCallbacks();
  void ExpectEnd(absl::Duration grace);
  void Disobeys(const char* order);
  // Ends the attempt without having run anything. `status`: why, unless it was stopped.
  void RollBack(const absl::Status& status);
  // Stops waiting for a disk that hangs. Nothing runs yet, and nothing will.
  void AbandonPreparation();

  void OnEvent(const SupervisorEvent& event);
  void On(const SupervisorReady& event);
  void On(const RankStarted& event);
  void On(const RankStartFailed& event);
  void On(const RankExited& event) { watch_.Exited(event); }
  void On(const StartedWarm& event);
  void On(const Looked& event) { watch_.Looked(event.at_ns); }
  void On(const CaughtSigterm& event) { watch_.CaughtSigterm(event.rank); }
  void On(const OutputGrown& event);
  void On(const StopBegan& event);
  void On(const AllGone& event);
  void On(const NotGone& event);
  void On(const Shortage& event);
  void OnLost(const std::string& reason);
  // Notes that the supervisor was found to be gone now.
  void TakeLoss(const std::string& reason);
  void KillLeftoversUntilGone();
  void GiveBackSupervisor(bool alone);
  void Returned(const protocol::Halt& halt);

  const RunnerContext* const context_;
  const AttemptRef ref_;
  const std::string dir_;         // the ranks' folder
  const std::string record_dir_;  // our own folder
  protocol::Prepare prepare_;
  int32_t first_rank_ = 0;
  int32_t ranks_ = 0;
  protocol::Inventory inventory_;
  PreparePlan plan_;
  std::optional<protocol::EnvironmentReport> environment_;  // set once the ranks are started
  GangServices gang_;
  RankWatch watch_;
  FenceWatch fence_;
  std::unique_ptr<SupervisorClient> supervisor_;
  std::optional<SpawnedSupervisor> left_;  // the supervisor, after the attempt was over
  std::string held_cgroup_;                // the one still held for us
  int32_t killed_ = 0;                     // of its processes; known when all are gone
  bool proved_gone_ = false;
  bool keeps_supervisor_ = true;
  std::vector<int64_t> survivors_;  // processes that have survived SIGKILL so far
  bool preparing_ = false;
  bool abandoned_ = false;  // given up while it was being prepared
  bool stopped_ = false;
  protocol::Halt lost_;  // how the supervisor was lost, at lost_at_
  MonoTime lost_at_{};
  // Tells the preparing thread that its work is not wanted any more.
  const std::shared_ptr<std::atomic<bool>> unwanted_ = std::make_shared<std::atomic<bool>>(false);
  bool not_gone_logged_ = false;
  EventLoop::TimerId sync_timer_ = 0;
  EventLoop::TimerId retry_ = 0;
  EventLoop::TimerId disk_timer_ = 0;
  EventLoop::TimerId must_end_timer_ = 0;
  MonoTime must_end_by_;
  // Callbacks that outlive the runner check this first.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_ATTEMPTS_ATTEMPT_RUNNER_H_
