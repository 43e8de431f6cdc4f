// Finds the attempts of an earlier worker process.
#ifndef HPC_WORKER_ATTEMPTS_ADOPTION_H_
#define HPC_WORKER_ATTEMPTS_ADOPTION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "worker/attempts/attempt_files.h"
#include "worker/core/attempt.h"
#include "worker/supervisor/protocol/spec.h"

namespace hpc::worker {

struct FoundAttempt {
  AttemptFile file;
  std::string dir;
  AdoptedAttempt attempt;            // as its journal tells it
  int64_t read_ns = 0;               // what CLOCK_BOOTTIME showed when its ages were measured
  std::vector<OutputGrown> outputs;  // how far its files go
};

// Reads every attempt's folder below the state directory. A folder that cannot be understood (the
// machine lost power while it was made) is deleted, with a warning. Attempts that still run without
// a folder are killed.
std::vector<FoundAttempt> FindAttempts(const std::string& state_dir);

// What a journal says of the file's ranks, at the time `now_ns` of CLOCK_BOOTTIME.
AdoptedAttempt FromJournal(const AttemptFile& file, const std::vector<SupervisorEvent>& journal,
                           int64_t now_ns);

}  // namespace hpc::worker

#endif  // HPC_WORKER_ATTEMPTS_ADOPTION_H_
