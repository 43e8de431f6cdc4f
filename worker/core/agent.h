// The worker's core: decides what to do about the coordinator, the attempts on this PC and its
// owner. Events come in, effects go out, and there is no I/O. Each method takes the time and
// appends what must be done. The shell calls Tick when NextDeadline is reached.
#ifndef HPC_WORKER_CORE_AGENT_H_
#define HPC_WORKER_CORE_AGENT_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/ids.h"
#include "protocol/coordinator_message.h"
#include "protocol/worker_message.h"
#include "worker/core/attempt.h"
#include "worker/core/connection.h"
#include "worker/core/effects.h"
#include "worker/core/yield.h"

namespace hpc::worker {

class Agent {
 public:
  // `node` is this PC's name, for messages. If several live attempts of `adopted` claim one device,
  // the records of all but one are damaged, and nobody can tell which of them are. So the first
  // Tick stops them all. That way no device is shared, and no wrong record keeps a device from
  // others.
  // `told_to_end`: how long ago the worker before this one was told to end, on this boot.
  Agent(const std::string& node, Now now, const OwnerState& owner,
        const std::vector<AdoptedAttempt>& adopted,
        std::optional<absl::Duration> told_to_end = std::nullopt);

  // ---- the coordinator. Its acknowledgements of output are the shell's own business. Whatever it
  // says before it has welcomed this node is ignored.
  void OnMessage(Now now, const protocol::CoordinatorMessage& message, Effects* effects);
  void OnLinkClosed(Now now, const absl::Status& why, double jitter, Effects* effects);

  // ---- attempts, as the shell carries them out
  void OnPrepared(Now now, const protocol::Prepared& prepared, Effects* effects);
  void OnRankStarted(Now now, AttemptRef ref, int32_t rank, int64_t pid, absl::Duration ago,
                     Effects* effects);
  void OnRankExited(Now now, AttemptRef ref, int32_t rank, const protocol::RankExit& exit,
                    protocol::RankAges ago, Effects* effects);
  void OnStoppedItself(Now now, AttemptRef ref, const protocol::Halt& halt, Effects* effects);
  // The attempt has lost something of this node that it cannot go on without.
  void OnDoomed(Now now, AttemptRef ref, const std::string& reason, Effects* effects);
  // All nodes of the attempt vouched for it at the time `at`.
  void OnWhole(Now now, AttemptRef ref, MonoTime at, Effects* effects);
  void OnHeardAll(Now now, AttemptRef ref, MonoTime at);
  // Whether this node vouches for the attempt. A new process does not until it has been welcomed,
  // since it does not know what the process before it has promised.
  bool Vouches(Now now, AttemptRef ref) const { return VouchFor(now, ref) != Vouch::kNo; }
  Vouch VouchFor(Now now, AttemptRef ref) const;
  // The result of a RecallRanks.
  void OnRecalled(const protocol::Recalled& recalled, Effects* effects);
  // No process of the attempt is left. `halt` is set if its supervisor was lost.
  void OnReturned(Now now, AttemptRef ref, const protocol::Halt& halt, Effects* effects,
                  int32_t killed = 0);
  // The attempt's files are gone.
  void OnDropped(AttemptRef ref) { attempts_.erase(ref); }

  // ---- the owner, on this PC
  void Reclaim(Now now, const YieldRequest& request, Effects* effects);
  void Lend(Now now, Effects* effects);

  // ---- power
  // The machine was suspended for `slept` and is awake again.
  void OnResumed(Now now, absl::Duration slept, Effects* effects);
  // The command that a Sleep asked for has ended, with any result. One of the three other calls
  // follows.
  void OnPowerCommandEnded() { power_command_runs_ = false; }
  // The PC was told to sleep, and stays on.
  void OnSleepFailed(const std::string& error, Effects* effects);
  // The power command was accepted; the machine will be gone in a moment.
  void OnFallingAsleep(const std::string& reason, Effects* effects);

  // ---- the end of this process, which was told `ago` to end. Ranks are stopped first if the PC
  // goes down, or if `stop_ranks`. Otherwise attempts live on under their supervisors, and the
  // coordinator is told that the node hands them over. Once there are none, it is told that the
  // node leaves.
  void Leave(Now now, const protocol::Leaving& words, absl::Duration ago, bool stop_ranks,
             Effects* effects);
  // Whether all that Leave waits for is done.
  bool ReadyToExit() const;

  void Tick(Now now, Effects* effects);
  MonoTime NextDeadline() const;

  // ---- reading
  const Connection& connection() const { return connection_; }
  const Yield& yield() const { return yield_; }
  const std::map<AttemptRef, Attempt>& attempts() const { return attempts_; }
  int32_t live_attempts() const;

 private:
  void OnWelcome(Now now, const protocol::Welcome& welcome, Effects* effects);
  void OnPrepare(Now now, const protocol::Prepare& prepare, Effects* effects);
  void OnStart(Now now, const protocol::Start& start, Effects* effects);
  void OnDoubt(Now now, const protocol::Doubt& doubt, Effects* effects);
  void OnStop(Now now, const protocol::Stop& stop, Effects* effects);
  void OnForget(Now now, const protocol::Forget& forget, Effects* effects);
  void OnSetOwner(Now now, const protocol::SetOwner& owner, Effects* effects);
  void OnGoToSleep(const protocol::GoToSleep& command, Effects* effects);
  // Why this node cannot take the attempt now; OK if it can.
  absl::Status Refusal(const protocol::Prepare& prepare) const;
  std::string TakenBack() const { return node_ + " was taken back by its owner"; }
  // The PC is its owner's from now on; what runs there is not stopped yet.
  void TakeBack(Now now, const YieldRequest& request, Effects* effects);
  // Stops all attempts for the owner.
  void StopAll(Now now, absl::Duration grace, Effects* effects);
  static void StopForOurselves(Now now, Attempt* attempt, const protocol::Halt& halt,
                               Effects* effects);
  void SayOwner(Now now, absl::Duration grace, Effects* effects);
  void StopIfCutOff(Now now, Effects* effects);
  void TickConnection(Now now, Effects* effects);
  void TickYield(Now now, Effects* effects);
  // Stops what an earlier worker process still had to stop when it died.
  void StopAllIfReclaimed(Now now, Effects* effects);
  void StopContested(Now now, Effects* effects);
  void CheckPcFree(Now now, Effects* effects);
  void ExtendLeasesIfDue(Now now, Effects* effects);
  void ExtendLeasesOnceMore(Now now, Effects* effects);
  void Fence(Attempt* attempt, Effects* effects) const;
  void FenceAll(Effects* effects);
  protocol::Hello MakeHello(Now now);
  Attempt* Find(AttemptRef ref);
  // Drops what cannot be said now: the next hello tells everything.
  void DropUnsayable(Effects* effects) const;

  std::string node_;
  Connection connection_;
  Yield yield_;
  std::map<AttemptRef, Attempt> attempts_;
  std::map<AttemptRef, std::string> contested_;  // attempts that must be stopped, and why
  bool resumed_ = false;
  bool power_command_runs_ = false;
  bool leaving_ = false;
  bool leaving_said_ = false;
  protocol::Leaving leave_words_;
  bool cut_off_acted_ = false;
  std::string noted_problem_;
  OwnerState owner_in_hello_;
  MonoTime next_lease_ = MonoTime::Infinite();
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_CORE_AGENT_H_
