// Finding the attempts of an earlier worker process.
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
  std::vector<OutputGrown> outputs;  // as far as its files go
};

// Reads every attempt dir below the state directory. One that cannot be understood (the machine
// lost power while it was made) is deleted, with a warning; what still runs of those whose dir is
// not there is killed.
std::vector<FoundAttempt> FindAttempts(const std::string& state_dir);

// What a journal says of the file's ranks, at CLOCK_BOOTTIME `now_ns`.
AdoptedAttempt FromJournal(const AttemptFile& file, const std::vector<SupervisorEvent>& journal,
                           int64_t now_ns);

}  // namespace hpc::worker

#endif  // HPC_WORKER_ATTEMPTS_ADOPTION_H_
