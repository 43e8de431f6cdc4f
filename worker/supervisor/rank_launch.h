// Turns a rank's spec into a running process.
#ifndef HPC_WORKER_SUPERVISOR_RANK_LAUNCH_H_
#define HPC_WORKER_SUPERVISOR_RANK_LAUNCH_H_

#include <sys/resource.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "common/unique_fd.h"
#include "worker/supervisor/os/cgroup_leaf.h"
#include "worker/supervisor/protocol/spec.h"

namespace hpc::worker {

struct LaunchPlan {
  const RankSpec* rank = nullptr;
  const std::vector<std::string>* added_env = nullptr;  // see StartRanks
  std::string workdir;
  int stdin_fd = -1, stdout_fd = -1, stderr_fd = -1;
  const CgroupLeaf* leaf = nullptr;  // to be born into; nullptr: none
  bool reset_oom_score = false;      // a daemon's protection is not for ranks
  rlimit open_files{};               // of the rank: not the larger one that we need ourselves
};

struct LaunchedRank {
  pid_t pid = -1;  // -1: no process could be made, errno is in `error`
  int error = 0;
  UniqueFd status;  // for ReadLaunchStatus; becomes readable soon
};

// Does not wait for the new process. It gets a session of its own, default signals, the three
// descriptors and nothing else that is open, and dies with its parent.
LaunchedRank LaunchRank(const LaunchPlan& plan);

// What became of a launch: false if that is not known yet. Else `failed` says why the program could
// not be run, or is empty: it runs, or was killed before it could.
bool ReadLaunchStatus(const LaunchPlan& plan, int status_fd,
                      std::optional<RankStartFailed>* failed);

// `base` and those of `added` whose names are not in it.
std::vector<std::string> MergeEnvironment(const std::vector<std::string>& base,
                                          const std::vector<std::string>& added);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_RANK_LAUNCH_H_
