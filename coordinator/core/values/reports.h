// What owners and clients tell the core, and what it answers. Plain values.
#ifndef HPC_COORDINATOR_CORE_VALUES_REPORTS_H_
#define HPC_COORDINATOR_CORE_VALUES_REPORTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/ids.h"
#include "coordinator/core/values/records.h"

namespace hpc::coordinator {

// A node's connection: the start of its worker with which it said hello. It names whatever it says.
struct Session {
  std::string node;
  uint64_t incarnation = 0;
};

struct Cancellation {
  std::string by;          // "": nobody is known
  bool interrupt = false;  // somebody has typed Ctrl-C at `hpcctl run`
};

// What a queued run asks for from now on. What is not set stays as it is.
struct RunChange {
  std::string by;            // "": nobody is known
  std::optional<bool> hold;  // true: it does not start until it is released
  std::optional<int32_t> priority, min_nodes, max_nodes, max_restarts;
  std::optional<absl::Duration> time_limit;  // infinite: none
  std::optional<std::vector<std::string>> node_list, exclude;
};

struct ReclaimRequest {
  std::optional<absl::Duration> duration;  // unset: until lent
  std::string reason;
  std::string who;
  // From asking ranks to end to ending them. Unset: 10 s, or what is left where they were asked
  // before.
  std::optional<absl::Duration> grace;
};

// What whoever puts a node to sleep should know.
struct SleepAnswer {
  RunId woken_for = 0;        // the queued run that will wake it as soon as it is off; 0: none
  std::string why_not_woken;  // why nothing will wake it; "": it can be woken, as far as is known
};

// What a run is waiting for; `why`, progress lines and listings show it.
struct RunWait {
  std::string text;            // "needs 4 nodes, 2 are free: pc3 is used by run 7, pc4 is asleep"
  int32_t queue_position = 0;  // 1 is next; 0: it is not queued (it waits for a run, or it runs)
};

// Says how a run ended that the core has forgotten, for --after; nothing if there never was such a
// run. It must be callable at any time.
using PastRunLookup = std::optional<RunState> (*)(void* context, RunId run);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_VALUES_REPORTS_H_
