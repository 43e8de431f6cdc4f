// The cgroup of a supervisor that works as another account than the worker, and of the attempts
// that it has: made by the worker, which keeps the right to kill it whole, and lent to the
// supervisor, but not to its ranks. Else they could move it into a cgroup of theirs and freeze it.
#ifndef HPC_WORKER_SUPERVISION_HELD_CGROUP_H_
#define HPC_WORKER_SUPERVISION_HELD_CGROUP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace hpc::worker {

// Makes an empty one below `parent` and lends it, for the supervisor of that number, which is found
// at `listener`. "": it cannot be had.
std::string MakeHeldCgroup(const std::string& parent, const std::string& number,
                           const std::string& listener);

// Whether nothing lives in it but that process.
bool HoldsNothingBut(const std::string& cgroup, int64_t pid);

// What the supervisors in it show as their attempt's dir (process_title.h). Ranks that look like
// one do not count.
std::vector<std::string> TitlesIn(const std::string& cgroup);

// Lets supervisors (OnOwnBehalf) make folders in `cgroup` and move processes among them, but none
// out of it.
absl::Status LendCgroup(const std::string& cgroup);

// Remembers it beside the attempt dir, where that account cannot write.
absl::Status RecordHeldCgroup(const std::string& dir, const std::string& cgroup);
// "": none is remembered.
std::string RecordedHeldCgroup(const std::string& dir);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISION_HELD_CGROUP_H_
