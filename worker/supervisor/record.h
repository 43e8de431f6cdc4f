// What belongs to an attempt and its ranks must not change. It lies in the folder around the
// attempt dir, which is the worker's alone where the ranks are of another account. The supervisor,
// which has that account's rights on files, gets it open.
#ifndef HPC_WORKER_SUPERVISOR_RECORD_H_
#define HPC_WORKER_SUPERVISOR_RECORD_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace hpc::worker {

// <attempt dir>/../<name>
std::string RecordPath(const std::string& dir, const std::string& name);

struct SupervisorFiles {
  UniqueFd journal;   // to append to
  UniqueFd listener;  // bound where ConnectToSupervisor looks; whoever listens is known by its pid
};

// Makes both. AlreadyExists: another supervisor has begun there.
absl::StatusOr<SupervisorFiles> MakeSupervisorFiles(const std::string& dir);
void RemoveSupervisorFiles(const std::string& dir);

// NotFound: nobody listens there (any more).
absl::StatusOr<UniqueFd> ConnectToSupervisor(const std::string& dir);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_RECORD_H_
