// One attempt on this node.
//
//   preparing -> prepared -> starting -> running
//       |            |           |          |
//       +------------+-----------+----------+--> stopping -> returned -> forgotten
//
// A stop may come at any moment: before the start it undoes the preparation. An attempt whose
// preparation is refused, or whose ranks have all ended, goes straight to returned. Every report
// can be repeated: asked again, the attempt says the same again.
#ifndef HPC_WORKER_CORE_ATTEMPT_H_
#define HPC_WORKER_CORE_ATTEMPT_H_

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"
#include "common/ids.h"
#include "protocol/coordinator_message.h"
#include "protocol/worker_message.h"
#include "worker/core/effects.h"
#include "worker/core/witness.h"

namespace hpc::worker {

// An attempt of an earlier worker process that was found again.
struct AdoptedAttempt {
  struct Rank {
    int32_t rank = 0;
    int64_t pid = 0;  // 0: never ran
    std::optional<protocol::RankExit> exit;
    protocol::RankAges ago;
  };
  AttemptRef ref;
  std::vector<int32_t> devices;
  absl::Duration stop_grace = absl::Seconds(30);
  bool started = false;
  std::vector<Rank> ranks;  // all ranks of this node
  bool returned = false;
  protocol::Halt halt;
  bool store_lost = false;   // its ranks go on, but cannot meet again
  bool witnessed = false;    // whether it was started as a witnessed one
  bool before_boot = false;  // it began in an earlier boot of the PC

  // So much time has passed since its ages were measured.
  void Age(absl::Duration passed);
};

class Attempt {
 public:
  enum class Phase {
    kPreparing = 1,
    kPrepared,
    kStarting,
    kRunning,
    kStopping,
    kReturned,
    kForgotten,
  };

  explicit Attempt(const protocol::Prepare& prepare);
  // An attempt that cannot exist, since its order contradicts itself. Nothing of it is on this
  // node.
  explicit Attempt(AttemptRef ref) : ref_(ref) {}
  Attempt(MonoTime now, const AdoptedAttempt& adopted);

  // ---- the coordinator
  void OnPrepareAgain(Effects* effects) const;
  // Does nothing for an adopted attempt that is only prepared: what its Prepare said is gone with
  // the process that heard it.
  void OnStart(MonoTime now, const protocol::Start& start, Effects* effects);
  void OnStop(MonoTime now, const protocol::Stop& stop, Effects* effects);
  // Ends what still runs. The files are deleted when nothing runs any more.
  void OnForget(MonoTime now, Effects* effects);

  // ---- this node
  void OnPrepared(MonoTime now, const protocol::Prepared& prepared, Effects* effects);
  void OnRankStarted(MonoTime now, int32_t rank, int64_t pid, absl::Duration ago, Effects* effects);
  void OnRankExited(MonoTime now, int32_t rank, const protocol::RankExit& exit,
                    protocol::RankAges ago, Effects* effects);
  // The supervisor ends the ranks for its own reason.
  void OnStoppedItself(MonoTime now, const protocol::Halt& halt, Effects* effects);
  // No process of the attempt is left. `halt` is set if its supervisor was lost.
  void OnReturned(MonoTime now, const protocol::Halt& halt, Effects* effects, int32_t killed = 0);
  // The worker itself ends the attempt, for a reason that is not the run's fault. The reason is
  // reported, unless the attempt was being stopped already.
  void StopForOurselves(MonoTime now, absl::Duration grace, const protocol::Halt& halt,
                        Effects* effects);

  // ---- witnessed attempts
  // This node does not vouch for the attempt before `until`.
  void Doubt(MonoTime until) { silent_until_ = std::max(silent_until_, until); }
  // All nodes vouched for the attempt at the time `at`.
  void OnWhole(MonoTime at);
  // All nodes were heard at the time `at`, whether or not they vouched: a node whose ranks have
  // failed does not.
  void OnHeardAll(MonoTime at);
  // Whether this node vouches for the attempt: its part here is as it should be.
  bool Vouches(MonoTime now) const {
    return witnessed_ && now >= silent_until_ && (ended_well_ || (live() && !stopping()));
  }
  // What this node tells the others when they ask. `heard`: the coordinator has heard all that this
  // node said until then. Once that includes that its part has ended well, this node vouches for
  // good: the coordinator does not take its promise alone as proof any more.
  Vouch VouchFor(MonoTime now, MonoTime heard) const {
    if (!Vouches(now)) return Vouch::kNo;
    return ended_well_ && heard > returned_at_ ? Vouch::kForGood : Vouch::kYes;
  }
  // Lets the attempt's ranks live for contact_limit after this contact, or for vouch_limit after
  // all nodes last vouched, whichever ends later. It never shortens that time.
  void Fence(MonoTime contact, const protocol::Welcome& welcome, Effects* effects);
  // The worker before this one was told to end at that time, as happens when the PC goes down. That
  // explains why ranks ended at about the same time by SIGTERM.
  void FormerWasToldToEnd(MonoTime now, MonoTime at, const std::string& reason);
  // The machine was suspended for this long, which the monotonic clock did not count.
  void OnSlept(absl::Duration slept);

  protocol::HeldAttempt Held(MonoTime now) const;

  AttemptRef ref() const { return ref_; }
  Phase phase() const { return phase_; }
  const std::vector<int32_t>& devices() const { return devices_; }
  absl::Duration stop_grace() const { return stop_grace_; }
  // Whether it may still have processes.
  bool live() const { return phase_ < Phase::kReturned; }
  bool stopping() const { return phase_ == Phase::kStopping; }
  bool ended_well() const { return ended_well_; }
  int32_t running_ranks() const;

 private:
  // A time in which this node did not hear all others of its gang.
  struct Parted {
    MonoTime from;
    MonoTime until;
  };
  struct Rank {
    int64_t pid = 0;
    std::optional<protocol::RankExit> exit;
    MonoTime started_at;
    MonoTime ended_at;
    absl::Duration ended_within;
    std::optional<Parted> apart;
    bool unstarted() const { return pid == 0 && !exit; }
  };
  void TakeHalt(MonoTime now, const protocol::Halt& halt);
  // TakeHalt, and tells the coordinator at once: the return may be far off, and this worker may not
  // live to see it.
  void SayHalt(MonoTime now, const protocol::Halt& halt, Effects* effects);
  protocol::Halt HaltAt(MonoTime now) const;
  void ReachBackToSigterm();
  // The last time apart that began before `ended`.
  std::optional<Parted> PartedBefore(MonoTime ended) const;
  void SayStartedOnce(MonoTime now, Effects* effects);
  bool AllSucceeded() const;
  protocol::Started MakeStarted(MonoTime now) const;
  static protocol::RankAges Ages(const Rank& rank, MonoTime now);

  AttemptRef ref_;
  std::vector<int32_t> devices_;
  absl::Duration stop_grace_;
  Phase phase_ = Phase::kPreparing;
  bool forget_ = false;
  bool start_asked_ = false;
  bool start_said_ = false;
  std::optional<protocol::Prepared> prepared_;
  std::map<int32_t, Rank> ranks_;
  size_t unstarted_ = 0;  // ranks that have neither a process nor an end
  protocol::Halt halt_;   // its age is counted from halted_at_
  MonoTime halted_at_{};
  std::optional<MonoTime> store_lost_;  // since when that is known
  bool witnessed_ = false;
  // The attempt has returned, and every rank had exited 0 by itself. Only the worker process that
  // saw the return sets this, since an earlier one may have promised not to vouch for it.
  bool before_boot_ = false;
  int32_t killed_ = 0;  // processes that needed SIGKILL; known when it has returned
  bool ended_well_ = false;
  MonoTime returned_at_ = MonoTime::Infinite();
  MonoTime silent_until_{};
  MonoTime whole_at_{-absl::InfiniteDuration()};
  // When all others of the gang were last heard. If they never were: when the attempt began here.
  MonoTime heard_all_at_{-absl::InfiniteDuration()};
  std::optional<Parted> parted_;               // the last one that is over
  MonoTime fence_{-absl::InfiniteDuration()};  // as the supervisor was told
};

// "preparing", "running" ...
const char* Name(Attempt::Phase phase);

}  // namespace hpc::worker

#endif  // HPC_WORKER_CORE_ATTEMPT_H_
