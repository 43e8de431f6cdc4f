// Which output is still to come. For every run with an attempt, this knows which nodes run its
// ranks, and which of their streams and metrics have ended. A run that is over keeps its followers
// until all output has come, or is given up.
#ifndef HPC_COORDINATOR_RUNTIME_OUTPUT_TRACKER_H_
#define HPC_COORDINATOR_RUNTIME_OUTPUT_TRACKER_H_

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/ids.h"
#include "coordinator/core/values/cluster_options.h"
#include "coordinator/core/values/effects.h"
#include "coordinator/store/logs/log_store.h"
#include "coordinator/store/store.h"
#include "protocol/output.h"

namespace hpc::coordinator {

class OutputTracker {
 public:
  // How long output is waited for once a run is over and nothing more comes: first for connected
  // nodes, then for nodes that are not connected.
  static constexpr absl::Duration kPatience = absl::Seconds(10);
  static constexpr absl::Duration kPatienceWithAbsent = absl::Seconds(3);

  explicit OutputTracker(Store* store) : store_(store) {}

  // Takes over what an earlier coordinator had placed, and the output that it still waited for.
  absl::Status Restore(Now now, const Snapshot& snapshot);
  // Takes in what the core has changed.
  void Apply(MonoTime now, const Change& change);

  // NotFound: the attempt was never placed on that node. InvalidArgument: it was, but without that
  // rank. A run that has been over for long is looked up in the store, and then tracked again for a
  // while.
  absl::Status CheckNode(MonoTime now, const std::string& node, AttemptRef ref);
  absl::Status CheckRank(MonoTime now, const std::string& node, AttemptRef ref, int32_t rank);

  // Something of the run has come, so the time to wait begins anew.
  void Heard(MonoTime now, RunId run);
  // These return false if that was known already.
  bool StreamEnded(const protocol::StreamId& stream);
  bool MetricsEnded(AttemptRef ref, int32_t rank);

  // Whether the run is over and output is still waited for.
  bool Awaits(RunId run) const { return ending_.contains(run); }
  // False while a run that is over still waits for output.
  bool Complete(RunId run) const { return !runs_.contains(run); }
  // Returns the runs that are over and have nothing more to wait for. They are forgotten here.
  std::vector<RunId> TakeComplete(MonoTime now,
                                  const std::function<bool(const std::string&)>& connected);
  // When TakeComplete may find another run although nothing has happened.
  MonoTime NextDeadline() const;

 private:
  struct Rank {
    std::string node;
    bool stdout_ended = false;
    bool stderr_ended = false;
    bool metrics_ended = false;
  };
  struct Placement {
    int32_t first_rank = 0;
    int32_t ranks = 0;
  };
  struct Attempt {
    std::map<std::string, Placement> nodes;
    std::map<int32_t, Rank> ranks;  // the ranks that have been started
    std::set<int32_t> open;         // the started ranks of which something has not ended
  };
  struct Run {
    std::map<int32_t, Attempt> attempts;
    std::optional<MonoTime> quiet_since;  // set once the run is over
    bool absent_passed = false;           // TakeComplete has run after kPatienceWithAbsent
  };

  void Add(const PlacementRecord& placement);
  void Add(const RankRecord& rank);
  absl::Status Load(MonoTime now, RunId run);
  void End(RunId run, MonoTime now);
  const Attempt* Find(AttemptRef ref) const;
  Attempt* Find(AttemptRef ref);
  static Rank& Touch(Attempt* attempt, int32_t rank);
  static void NoteEnded(Attempt* attempt, int32_t rank);
  static bool Finished(const Run& run, absl::Duration quiet_for,
                       const std::function<bool(const std::string&)>& connected);

  Store* store_;
  std::map<RunId, Run> runs_;
  std::map<RunId, Run*> ending_;  // the runs in runs_ that are over
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RUNTIME_OUTPUT_TRACKER_H_
