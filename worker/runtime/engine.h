// The worker's shell. It feeds the agent with what happens, and does what the agent wants done.
#ifndef HPC_WORKER_RUNTIME_ENGINE_H_
#define HPC_WORKER_RUNTIME_ENGINE_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "protocol/coordinator_message.h"
#include "protocol/worker_message.h"
#include "worker/attempts/attempt_runner.h"
#include "worker/attempts/peers/recall_call.h"
#include "worker/core/agent.h"
#include "worker/link/link.h"
#include "worker/link/route.h"
#include "worker/loop/background.h"
#include "worker/loop/event_loop.h"
#include "worker/os/seams.h"
#include "worker/owner/owner_keeper.h"
#include "worker/runtime/outbox.h"
#include "worker/runtime/owners_waiting.h"
#include "worker/runtime/surroundings.h"
#include "worker/shipping/output.h"

namespace hpc::worker {

struct EngineOptions {
  std::string node;
  uint64_t incarnation = 0;
  std::string state_dir;
  Route* route = nullptr;
  std::string address;                           // "": the source address towards the coordinator
  Accounts accounts;                             // the accounts that ranks run as
  absl::Duration obedience = absl::Seconds(10);  // see RunnerContext
  std::string supervisor_program;
  std::string hpc_py_dir;             // "": hpc.py is not there
  std::vector<std::string> own_env;   // "KEY=VALUE", for ranks of the worker's own account
  std::vector<std::string> rank_env;  // which of these ranks of other accounts inherit (LocalFacts)
  AsTold told;
  bool stop_ranks_on_exit = false;
  int32_t keep_run_dirs = 30;                   // days; 0: for ever
  absl::Duration keep_warm = absl::Minutes(5);  // see RunnerContext
  bool reuse = true;  // supervisors, and empty folders, for the next attempts
  // The machine is kept awake once ranks have been there for so long: whoever runs many short runs
  // is not to pay for a lock with each.
  absl::Duration keep_awake_after = absl::Seconds(5);
};

struct Machine {
  HostProbe* host = nullptr;
  DeviceProbe* devices = nullptr;
  PythonProbe* python = nullptr;
  Power* power = nullptr;
};

// Everything runs on the loop's thread.
class Engine : public AttemptObserver {
 public:
  // Uses the loop's after-round hook.
  Engine(EventLoop* loop, const EngineOptions& options, const Machine& machine, Link* link);
  ~Engine() override;

  // Finds the attempts of an earlier process, and begins to connect. DataLoss: the owner's file is
  // damaged.
  absl::Status Start();
  // `callback` is called whenever the coordinator says welcome, with the address that it was told.
  void SetOnWelcome(std::function<void(const std::string& address)> callback) {
    on_welcome_ = std::move(callback);
  }
  // Says goodbye, and then calls `done`. Ranks live on unless the options say otherwise.
  void Shutdown(std::function<void()> done);

  // The owner, on this PC. `done` is called once nothing runs for the cluster any more (Reclaim)
  // and the wish is saved, if that does not take too long (OwnersWaiting).
  void Reclaim(const YieldRequest& request, OnOwnerAnswer done);
  void Lend(OnOwnerAnswer done);

  // To be called after Start.
  const Agent& agent() const { return *agent_; }
  const EngineOptions& options() const { return options_; }

  // ---- AttemptObserver
  void OnPrepared(const protocol::Prepared& prepared) override;
  void OnEnvironment(const protocol::EnvironmentReport& report) override;
  void OnRankStarted(AttemptRef ref, int32_t rank, int64_t pid, absl::Duration ago) override;
  void OnRankExited(AttemptRef ref, int32_t rank, const protocol::RankExit& exit,
                    protocol::RankAges ago) override;
  void OnOutput(AttemptRef ref, const OutputGrown& output) override;
  void OnRendezvous(const protocol::RendezvousReport& report) override;
  void OnStoppedItself(AttemptRef ref, const protocol::Halt& halt) override;
  void OnDoomed(AttemptRef ref, const std::string& reason) override;
  void OnWhole(AttemptRef ref, MonoTime at) override;
  void OnHeardAll(AttemptRef ref, MonoTime at) override;
  Vouch VouchFor(AttemptRef ref) const override;
  void OnReturned(AttemptRef ref, const protocol::Halt& halt, int32_t killed) override;

 private:
  void Adopt();
  // Lets the agent decide and carries out what it wants. It may be called from within itself.
  void Decide(const std::function<void(Now, Effects*)>& event);
  void Tick();
  void NoticeSuspension();
  bool SuspensionEndsLink();
  void SetTimer();
  void AfterRound();

  // Adds who this worker is and what its PC has.
  protocol::Hello Introduce(protocol::Hello hello) const;
  void Do(const OpenLink& effect);
  void Do(const CloseLink& effect);
  void Do(const Say& effect) { Send(effect.message); }
  void Do(const SayHeartbeat& effect);
  void Do(const PrepareAttempt& effect);
  void Do(const StartAttempt& effect);
  void Do(const StopAttempt& effect);
  void Do(const DropAttempt& effect);
  void Do(const ExtendLeases& effect);
  void Do(const SetFence& effect);
  void Do(const RecallRanks& effect);
  void Do(const SaveOwner& effect);
  void Do(const Sleep& effect);
  void Do(const Note& effect);

  void Send(const protocol::WorkerMessage& message) { outbox_.Send(message); }
  void OnMessage(const protocol::CoordinatorMessage& message);
  void OnWelcome();
  void OnLinkClosed(const absl::Status& why);
  void CloseUnusedStores();
  void KeepAwake();
  void DeleteFiles(AttemptRef ref);
  // Once an hour, removes what runs left here too long ago.
  void SweepRunDirs();
  void SweepSupervisorsSoon();
  void KeepNothing();
  void AwaitOwner(bool pc_free, OnOwnerAnswer done);
  void ExitWhenReady();

  EventLoop* const loop_;
  const EngineOptions options_;
  const Machine machine_;
  Link* const link_;
  // These are separate threads. Neither a dead network disk below some working directory nor a slow
  // command that turns the PC off must keep the worker from connecting or killing.
  Background disk_;
  Background upkeep_;
  Background state_;
  Background system_;
  Background power_;
  OwnerKeeper owner_keeper_;
  OwnersWaiting owners_waiting_;
  Surroundings surroundings_;
  RunnerContext context_;
  Output output_;
  std::unique_ptr<Agent> agent_;
  std::map<AttemptRef, std::unique_ptr<AttemptRunner>> runners_;

  MonoTime busy_since_ = MonoTime::Infinite();  // ranks have been here since, for no owner

  std::map<uint64_t, std::unique_ptr<RecallCall>> recalls_;
  uint64_t recalls_begun_ = 0;

  bool deciding_ = false;
  bool supervisors_swept_soon_ = false;
  std::deque<Effect> effects_;
  EventLoop::TimerId timer_ = 0;
  std::mt19937_64 random_;

  Outbox outbox_;
  std::string address_;
  std::function<void(const std::string&)> on_welcome_;

  std::function<void()> on_exit_;
  MonoTime exit_asked_;
  bool exit_noted_ = false;  // the next worker will know of it
  bool goodbye_said_ = false;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_RUNTIME_ENGINE_H_
