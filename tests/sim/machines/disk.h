// The coordinator's disk: all that a crash leaves. It restores the same as coordinator/store: the
// live runs, their live attempts, and the largest numbers that were ever given.
#ifndef HPC_TESTS_SIM_MACHINES_DISK_H_
#define HPC_TESTS_SIM_MACHINES_DISK_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "coordinator/core/values/cluster_options.h"
#include "coordinator/core/values/effects.h"
#include "protocol/coordinator_message.h"
#include "tests/sim/frame/context.h"
#include "tests/sim/truth/census.h"

namespace hpc::sim {

class Disk {
 public:
  // The disk checks every record against `census`: a record must not lie.
  Disk(Context* context, Census* census) : context_(context), census_(census) {}

  struct Batch {
    std::vector<coordinator::Change> changes;
    std::vector<std::pair<std::string, RunId>> requests;  // the clients' own ids of new runs
  };
  // Applies all of it or, on an error, nothing.
  absl::Status Commit(const Batch& batch);
  // A crash that follows must not make the coordinator forget what a node is told: checks that it
  // is on disk.
  void CheckTold(const protocol::CoordinatorMessage& command) const;
  void set_full(bool full) { full_ = full; }

  coordinator::Snapshot Load() const;
  std::optional<RunId> FindRequest(const std::string& id) const;
  const coordinator::RunRecord* Run(RunId run) const;
  const std::map<RunId, coordinator::RunRecord>& runs() const { return runs_; }
  const std::map<std::string, coordinator::NodeRecord>& nodes() const { return nodes_; }

  // A cancel was acknowledged: no further attempt of the run may begin.
  void PromiseCancelled(RunId run);
  // A hold was acknowledged: no attempt of the run may begin until somebody asks for its release.
  void PromiseHeld(RunId run) { held_.insert(run); }
  void ReleaseAsked(RunId run) { held_.erase(run); }
  // Whether the run had failed, was refused or was out of time before the cancel.
  bool HadFailedBefore(RunId run) const;
  struct Cancelled {
    int32_t attempts = 0;
    absl::Time at;
  };
  std::set<RunId> held_;
  const std::map<RunId, Cancelled>& cancelled() const { return cancelled_; }

 private:
  void Apply(const coordinator::RunRecord& run);
  void Apply(const coordinator::AttemptRecord& attempt);
  void Apply(const coordinator::PlacementRecord& placement);
  void Apply(const coordinator::RankRecord& rank);
  void Apply(const coordinator::NodeRecord& node);
  void Apply(const coordinator::EventRecord& event);
  void Apply(const coordinator::HoldOver&) {}  // no backup is restored here
  void CheckSuccess(const coordinator::RunRecord& run) const;
  void CheckCause(const coordinator::AttemptRecord& attempt) const;

  Context* context_;
  Census* census_;
  bool full_ = false;
  std::map<RunId, coordinator::RunRecord> runs_;
  std::map<AttemptRef, coordinator::AttemptRecord> attempts_;
  std::map<std::pair<AttemptRef, std::string>, coordinator::PlacementRecord> placements_;
  std::map<std::pair<AttemptRef, int32_t>, coordinator::RankRecord> ranks_;
  std::map<std::string, coordinator::NodeRecord> nodes_;
  EventId last_event_ = 0;
  std::map<std::string, RunId> requests_;
  std::map<RunId, Cancelled> cancelled_;
};

}  // namespace hpc::sim

#endif  // HPC_TESTS_SIM_MACHINES_DISK_H_
