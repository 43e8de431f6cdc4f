// Finds what runs for attempts of a worker without any of their files.
#ifndef HPC_WORKER_SUPERVISOR_CLIENT_STRAYS_H_
#define HPC_WORKER_SUPERVISOR_CLIENT_STRAYS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace hpc::worker {

// The paths of the cgroups and scopes that hold the attempt which has this dir.
std::vector<std::string> CgroupsOf(const std::string& attempt, const std::string& dir);

// The last argument of a supervisor, as lists of processes show it (process_title.h). nullopt: the
// process is not a supervisor.
std::optional<std::string> SupervisorTitle(int64_t pid);

// A supervisor, or what one has left behind.
struct Stray {
  std::string attempt;  // "12.2"
  std::string dir;
};

// All strays on this machine whose attempt dir is `prefix`, the attempt's name and `suffix`, each
// once.
std::vector<Stray> FindStrays(const std::string& prefix, const std::string& suffix);

// SIGKILLs its supervisor and then what is left of the attempt, as KillLeftovers does.
absl::Status KillStray(const Stray& stray);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_CLIENT_STRAYS_H_
