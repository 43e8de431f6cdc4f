// The runs that are not over.
#ifndef HPC_COORDINATOR_CORE_STATE_RUN_TABLE_H_
#define HPC_COORDINATOR_CORE_STATE_RUN_TABLE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "common/clock.h"
#include "common/ids.h"
#include "coordinator/core/state/attempt.h"
#include "coordinator/core/values/records.h"

namespace hpc::coordinator {

struct Run {
  RunRecord record;                     // its state is changed by RunTable::SetState only
  std::unique_ptr<Attempt> attempt;     // the live one
  std::vector<std::string> last_nodes;  // of the previous attempt, by node rank
  std::string cancel_reason;
  bool in_queue = false;              // maintained by RunQueue
  MonoTime retry_at{};                // when its back-off ends, as in the record
  std::optional<MonoTime> last_call;  // it could start, but waits for more nodes until then
  // Devices that the run grows onto. They are kept for it while its previous attempt is being
  // stopped.
  struct Kept {
    std::string node;
    std::vector<int32_t> devices;
    int32_t ranks = 0;
  };
  std::vector<Kept> kept;
  // What is left of a gang that gives nodes to another run. It is started again on this, and nobody
  // else gets it meanwhile.
  std::vector<Kept> goes_on_with;
  // Attempts up to this number may have been given out by a coordinator whose state was lost.
  int32_t taken_attempt = 0;

  RunId id() const { return record.id; }
  const RunRequest& request() const { return record.request; }
};

// The legal transitions of a run's state.
//
//   queued    -> starting, failed, cancelled
//   starting  -> running, stopping
//   running   -> stopping, succeeded
//   stopping  -> queued, succeeded, failed, cancelled, timed-out
bool IsLegal(RunState from, RunState to);

class RunTable {
 public:
  explicit RunTable(RunId last) : last_(last) {}

  // The number of the next run. Each call counts on.
  RunId NextId() { return ++last_; }
  Run* Add(RunRecord record);
  void Remove(RunId id);
  Run* Find(RunId id);
  const Run* Find(RunId id) const;
  // The newest run with a number below `before`; null: there is none.
  const Run* NewestBelow(RunId before) const;
  // Changes the state of a run; nothing else may. Asserts that the transition is legal.
  void SetState(Run* run, RunState to);

  int32_t Count(RunState state) const { return counts_[static_cast<size_t>(state)]; }
  // How many of these runs belong to this user.
  int32_t CountOf(const std::string& user) const;
  // Whether a run with this number was ever submitted.
  bool Known(RunId id) const { return id >= 1 && id <= last_; }
  std::vector<RunId> Ids() const;  // ascending

 private:
  RunId last_;
  absl::btree_map<RunId, std::unique_ptr<Run>> runs_;
  std::array<int32_t, 9> counts_{};  // indexed by state
  absl::flat_hash_map<std::string, int32_t> counts_of_users_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_STATE_RUN_TABLE_H_
