// Decides whether a gang that runs on fewer nodes than it may have is started again on more. Pure
// functions.
//
// A restart costs what the program has computed since its last checkpoint, so it must be worth it:
// - The new nodes must have been there without a break, and free, for a time (`grow_steady`). That
//   time doubles each time that a node went away again, up to an hour.
// - The gang itself must have run for `grow_steady`, so that no two restarts of this kind come
//   close together.
// - Nobody else must be waiting for these nodes: a queued run is worth more than a larger one.
#ifndef HPC_COORDINATOR_CORE_POLICY_GROWTH_H_
#define HPC_COORDINATOR_CORE_POLICY_GROWTH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"
#include "common/ids.h"
#include "coordinator/core/values/records.h"

namespace hpc::coordinator {

// How long a node that went away `departures` times in a row must stay before a gang grows onto it.
absl::Duration SteadyTime(absl::Duration grow_steady, int32_t departures);

struct NewNode {
  std::string name;
  MonoTime steady_at;  // by then it will have been there and free for long enough
  // How often it went away in a row. 0 unless that makes it wait for longer than `grow_steady`.
  int32_t departures = 0;
};

struct GrowthInput {
  GrowMode mode = GrowMode::kCheckpoint;
  MonoTime now;
  absl::Duration grow_steady;
  MonoTime gang_steady_at;     // by then the gang will have run long enough
  int32_t nodes = 0;           // how many it has
  std::vector<NewNode> fresh;  // nodes that it would have besides; none: it cannot grow
  RunId waiting = 0;           // a queued run that waits for devices; 0: none
  bool at_checkpoint = false;  // the program has just said that a checkpoint is whole
};

struct GrowthDecision {
  bool grow = false;
  MonoTime again = MonoTime::Infinite();  // when to decide again, if nothing changes before
  std::string words;                      // why it waits or grows; "": nothing to say
};

GrowthDecision DecideGrowth(const GrowthInput& input);

// A decision's words with how much time is left until it is made again.
std::string GrowthWords(const std::string& words, MonoTime again, MonoTime now);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_POLICY_GROWTH_H_
