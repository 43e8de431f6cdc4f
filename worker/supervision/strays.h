// What runs for attempts of a worker, found without any file of theirs.
#ifndef HPC_WORKER_SUPERVISION_STRAYS_H_
#define HPC_WORKER_SUPERVISION_STRAYS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace hpc::worker {

// Paths of the cgroups and scopes that hold the attempt that has this dir.
std::vector<std::string> CgroupsOf(const std::string& attempt, const std::string& dir);

// The last argument of a supervisor, as lists of processes show it (process_title.h). nullopt: that
// is none.
std::optional<std::string> SupervisorTitle(int64_t pid);

// A supervisor or what one has left behind.
struct Stray {
  std::string attempt;  // "12.2"
  std::string dir;
};

// All on this machine whose attempt dir is `prefix`, the attempt's name, `suffix`, each once.
std::vector<Stray> FindStrays(const std::string& prefix, const std::string& suffix);

// SIGKILLs its supervisor and then what is left of it, as KillLeftovers does.
absl::Status KillStray(const Stray& stray);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISION_STRAYS_H_
