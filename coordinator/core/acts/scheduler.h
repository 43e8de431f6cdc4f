// Starts queued runs when there may be room for them.
#ifndef HPC_COORDINATOR_CORE_ACTS_SCHEDULER_H_
#define HPC_COORDINATOR_CORE_ACTS_SCHEDULER_H_

#include <vector>

#include "coordinator/core/acts/power.h"
#include "coordinator/core/gangs/gang_starter.h"
#include "coordinator/core/policy/placement.h"
#include "coordinator/core/state/state.h"
#include "coordinator/core/state/turn.h"

namespace hpc::coordinator {

class Scheduler {
 public:
  Scheduler(State* state, GangStarter* starter, PowerControl* power)
      : state_(state), starter_(starter), power_(power) {}

  // Looks at the whole queue (up to backfill_depth) if room may have become free. Otherwise it
  // looks only at the runs that are new: a submission behind a long queue must not cost the queue's
  // length.
  void Schedule(Turn& turn, Now now);

  // The run that will wake `node`, which was told to sleep, as soon as it is off, unless other runs
  // come or end before that; 0: none.
  RunId WillWake(const Node& node, Now now) const;

  // The run that held its place when the queue was last looked at; 0: none.
  RunId holder() const { return holder_; }
  // A run that waits for devices that others could take: the holder, or a run in its last call, or
  // a run that will be queued again. 0: none.
  RunId waiting_run() const {
    if (holder_ != 0) return holder_;
    if (!gathering_.empty()) return gathering_.front();
    return later_.empty() ? 0 : later_.front();
  }

 private:
  std::vector<Run*> ToLookAt(MonoTime now);
  // Runs that are not in the queue are candidates for a later start.
  std::vector<Candidate> Candidates(const std::vector<Run*>& runs, MonoTime now) const;
  absl::Duration LastCall(const Run& run, MonoTime now) const;
  // Whether some node that could serve the request was there before the coordinator restarted, and
  // is not there yet.
  bool IsExpected(const RunRequest& request) const;
  void Gather(Run* run, MonoTime now);
  // Calls the lost nodes that the run at the head of the queue could use.
  void CallLost(Turn& turn) const;
  // Starts gangs that have given nodes to others on those that they have kept.
  void StartOnKept(Turn& turn, Now now);
  void Start(Turn& turn, Run* run, const Placed& placed, const std::vector<Node*>& nodes);

  State* state_;
  GangStarter* starter_;
  PowerControl* power_;
  RunId holder_ = 0;
  std::vector<RunId> gathering_;  // in their last call
  std::vector<RunId> later_;      // they are not queued yet, and devices are kept for them
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_ACTS_SCHEDULER_H_
