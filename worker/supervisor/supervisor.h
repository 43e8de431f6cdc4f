// One attempt on one node. The supervisor starts the ranks, keeps what they write and how they end,
// and guarantees that nothing of them is left in the end.
//
//   kPreparing --scope settled--> kReady --StartRanks--> kRunning
//                                         all ranks ended   |   StopRanks, SIGTERM, lease run out
//                                            kLeaving <-----+-----> kStopping
//                 their helpers have a moment   |                       |   told to end, grace
//                                               +-----> kKilling <------+   SIGKILL, repeated
//                                                           v
//                                                         kGone             told
//
// From kLeaving and kStopping it also comes to kGone as soon as no process is left. A stop before
// kRunning goes straight to kKilling.
//
// All of that is on one thread, which touches no disk. What is to be written goes to a second
// thread.
#ifndef HPC_WORKER_SUPERVISOR_SUPERVISOR_H_
#define HPC_WORKER_SUPERVISOR_SUPERVISOR_H_

#include <sys/resource.h>

#include <cstdint>
#include <string>
#include <vector>

#include "common/unique_fd.h"
#include "worker/supervisor/containment.h"
#include "worker/supervisor/os/poller.h"
#include "worker/supervisor/output/event_book.h"
#include "worker/supervisor/output/event_feed.h"
#include "worker/supervisor/output/rank_outputs.h"
#include "worker/supervisor/output/writer_thread.h"
#include "worker/supervisor/protocol/spec.h"
#include "worker/supervisor/rank_launch.h"
#include "worker/supervisor/recall_door.h"
#include "worker/supervisor/stop_signals.h"
#include "worker/supervisor/warm_up.h"
#include "worker/supervisor/workplace.h"

namespace hpc::worker {

// Works with the attempt dir as its current folder. There can be only one per process at a time,
// since signals, children and the subreaper's duty belong to the whole process.
class Supervisor {
 public:
  // `place` outlives it.
  Supervisor(SupervisorSpec spec, Workplace* place);

  // The worker has opened `journal` and `recall`. False: the log says what failed. The worker's
  // socket stays open until then, so that whoever sees it close finds the reason.
  bool Prepare(UniqueFd journal, UniqueFd recall);

  enum class End {
    kOver,
    // The worker is still there, and nothing of this attempt is left that could get in the way of
    // another. The workplace, which has everything that it had before, may serve the next attempt.
    kTidy,
    // The disk hangs, and some of what was to be written hangs with it. Nobody can reach us any
    // more.
    kHangs,
  };
  // Runs until everything is gone and told.
  End Run();

 private:
  static constexpr char kSigtermReason[] = "SIGTERM";
  static constexpr char kRecallReason[] = "recall";
  enum class Phase { kPreparing, kReady, kRunning, kLeaving, kStopping, kKilling, kGone };

  struct Rank {
    enum class State { kWaiting, kStarting, kRunning, kEnded };
    State state = State::kWaiting;
    pid_t pid = -1;
    int64_t launched_ns = 0;
    UniqueFd status;  // the pipe of the launch, while kStarting
    bool catches_sigterm = false;
    // It has ended, and that is told a moment later, unless this process is told to end as well.
    std::optional<RankExited> held_back;
    int64_t held_until_ns = 0;
  };

  // In supervisor.cc: preparation, commands, time.
  bool Lack(const std::string& what);
  void ChooseContainment();
  void SettleScope(int64_t now);
  void BecomeReady();
  void OnSignals();
  void StopOnOrder(const StopRanks& order);
  void OnCommand(const SupervisorCommand& command);
  void SayLater(const std::string& line);
  void SyncJournal();
  bool IsTidy() const;
  void Advance(int64_t now);
  int64_t NextDeadline() const;

  // In supervisor_ranks.cc: the ranks' lives.
  void StartRanksNow();
  void StartOne(size_t rank);
  LaunchedRank Launch(size_t rank);
  LaunchPlan PlanOf(size_t rank) const;
  void OnLaunchStatus(size_t rank);
  bool Reap();
  void OnReaped(int64_t pid, int status, const rusage& usage);
  void LookWhoCatchesSigterm(int64_t now);
  void RecordEnd(Rank* rank, const RankExited& exited);
  // Tells the ends that were held back: all, or those whose time is over.
  void ReleaseEnds(int64_t until_ns);
  bool AllEnded() const;
  void BeginLeaving(int64_t now);
  void LookWhoIsLeft(int64_t now);

  // In supervisor_stop.cc: they are told to end, and killed when their grace is over.
  void BeginStop(const StopRanks& order);
  int StopSignal(const StopRanks& order) const;
  void BeginKill();
  void ContinueKill(int64_t now);
  void TellSurvivors(int64_t now);
  void BecomeGone();
  void RecordGone();
  // All ranks have ended, or are to.
  bool IsEnding() const { return phase_ == Phase::kLeaving || phase_ == Phase::kStopping; }
  bool BehindFence(int64_t now) const { return fence_ns_ != 0 && now >= fence_ns_; }

  SupervisorSpec spec_;
  Workplace& place_;
  Phase phase_ = Phase::kPreparing;
  Poller& poller_;
  Containment& containment_;
  WriterThread& writer_;
  RankOutputs outputs_;
  EventFeed feed_;
  EventBook book_;
  RecallDoor recall_;
  std::vector<Rank> ranks_;
  StopSignals signals_;
  WarmUp warm_up_;

  StartRanks start_;  // the command that came
  bool start_wanted_ = false;
  bool scope_refused_ = false;
  bool stopping_ = false;     // from now on, exits count as after a stop
  bool told_to_end_ = false;  // by SIGTERM
  bool copies_ = false;       // its ranks are made by the warm parent
  bool failed_ = false;       // a rank did not end with exit code 0
  bool gone_recorded_ = false;
  bool journal_unsynced_ = false;  // an end is written but not synced
  int32_t killed_ = 0;

  // All of these are of CLOCK_BOOTTIME; 0: not yet.
  int64_t scope_deadline_ns_ = 0;
  int64_t lease_deadline_ns_ = 0;
  int64_t fence_ns_ = 0;
  int64_t looked_ns_ = 0;  // whoever had ended before this was reaped
  int64_t next_look_at_handlers_ns_ = 0;
  int64_t kill_deadline_ns_ = 0;          // while IsEnding()
  int64_t next_look_who_is_left_ns_ = 0;  // while IsEnding()
  int64_t first_signal_ns_ = 0;
  int64_t first_kill_ns_ = 0;
  int64_t next_kill_ns_ = 0;
  int64_t next_not_gone_ns_ = 0;
  int64_t gone_ns_ = 0;
  int64_t told_ns_ = 0;  // when the end was told
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_SUPERVISOR_H_
