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
  mode_t umask = 077;
  int stdin_fd = -1, stdout_fd = -1, stderr_fd = -1;
  int socket_fd = -1;                  // kept open as kLaunchedSocketFd; -1: none
  rlim_t cpu_seconds = RLIM_INFINITY;  // after so much it gets SIGXCPU
  const CgroupLeaf* leaf = nullptr;    // the rank is born in it; nullptr: none
  bool reset_oom_score = false;        // a daemon's protection is not meant for ranks
  rlimit open_files{};                 // the rank's limit, not the higher one that we need
};

struct LaunchedRank {
  pid_t pid = -1;  // -1: no process could be made; errno is in `error`
  int error = 0;
  UniqueFd status;  // for ReadLaunchStatus; becomes readable soon
};

inline constexpr int kLaunchedSocketFd = 3;

// Does not wait for the new process. It gets a session of its own, default signals and the
// descriptors of the plan; nothing else is open in it. It dies with its parent.
LaunchedRank LaunchRank(const LaunchPlan& plan);

// What became of a launch. False: that is not known yet. Otherwise `failed` says why the program
// could not be executed. If it is empty, the program runs, or was killed before it could.
bool ReadLaunchStatus(const LaunchPlan& plan, int status_fd,
                      std::optional<RankStartFailed>* failed);

// Returns `base`, and those variables of `added` whose names are not in it.
std::vector<std::string> MergeEnvironment(const std::vector<std::string>& base,
                                          const std::vector<std::string>& added);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_RANK_LAUNCH_H_
