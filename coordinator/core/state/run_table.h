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
#include "coordinator/core/values/model.h"

namespace hpc::coordinator {

struct Run {
  RunRecord record;                     // its state is changed by RunTable::SetState only
  std::unique_ptr<Attempt> attempt;     // the live one
  std::vector<std::string> last_nodes;  // of the attempt before, by node rank
  std::string cancel_reason;
  bool in_queue = false;              // RunQueue's
  MonoTime retry_at{};                // in back-off until then, as in the record
  std::optional<MonoTime> last_call;  // could start, and waits for more nodes until then
  // Devices that it grows onto, while the attempt before is being stopped.
  struct Kept {
    std::string node;
    std::vector<int32_t> devices;
  };
  std::vector<Kept> kept;
  // Attempts up to this number may have been given out by a coordinator whose state was lost.
  int32_t taken_attempt = 0;

  RunId id() const { return record.id; }
  const RunRequest& request() const { return record.request; }
};

// The legal edges of a run's state.
//
//   queued    -> starting, failed, cancelled
//   starting  -> running, stopping
//   running   -> stopping, succeeded
//   stopping  -> queued, succeeded, failed, cancelled, timed-out
bool IsLegal(RunState from, RunState to);

class RunTable {
 public:
  explicit RunTable(RunId last) : last_(last) {}

  // The number that the next run gets; counts on.
  RunId NextId() { return ++last_; }
  Run* Add(RunRecord record);
  void Remove(RunId id);
  Run* Find(RunId id);
  const Run* Find(RunId id) const;
  // The newest of those below `before`; null: there is none.
  const Run* NewestBelow(RunId before) const;
  // Every change of a run's state; asserts a legal edge.
  void SetState(Run* run, RunState to);

  int32_t Count(RunState state) const { return counts_[static_cast<size_t>(state)]; }
  // How many of these runs are of this user.
  int32_t CountOf(const std::string& user) const;
  // Was such a run ever submitted?
  bool Known(RunId id) const { return id >= 1 && id <= last_; }
  std::vector<RunId> Ids() const;  // ascending

 private:
  RunId last_;
  absl::btree_map<RunId, std::unique_ptr<Run>> runs_;
  std::array<int32_t, 9> counts_{};  // by state
  absl::flat_hash_map<std::string, int32_t> counts_of_users_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_STATE_RUN_TABLE_H_
