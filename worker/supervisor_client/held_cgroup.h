// The cgroup of a supervisor that works as another account than the worker, and of the attempts
// that it has. The worker makes it and keeps the right to kill it as a whole. It lends the cgroup
// to the supervisor, but not to its ranks: otherwise they could move the supervisor into a cgroup
// of theirs and freeze it.
#ifndef HPC_WORKER_SUPERVISOR_CLIENT_HELD_CGROUP_H_
#define HPC_WORKER_SUPERVISOR_CLIENT_HELD_CGROUP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace hpc::worker {

// Makes an empty cgroup below `parent` and lends it, for the supervisor with that number, which is
// found at `listener`. "": it cannot be made.
std::string MakeHeldCgroup(const std::string& parent, const std::string& number,
                           const std::string& listener);

// Whether only that process lives in it, apart from the resident that a supervisor keeps for later
// ranks (worker/supervisor/warm_parent.h).
bool HoldsNothingBut(const std::string& cgroup, int64_t pid);

// The attempt dirs that the supervisors in it show as their title (process_title.h). Ranks that
// look like a supervisor do not count.
std::vector<std::string> TitlesIn(const std::string& cgroup);

// Lets supervisors (OnOwnBehalf) make folders in `cgroup` and move processes among them, but not
// out of it.
absl::Status LendCgroup(const std::string& cgroup);

// Records it beside the attempt dir, where that account cannot write.
absl::Status RecordHeldCgroup(const std::string& dir, const std::string& cgroup);
// "": none is recorded.
std::string RecordedHeldCgroup(const std::string& dir);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_CLIENT_HELD_CGROUP_H_
