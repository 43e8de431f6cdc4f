// The owner's wish on disk. A PC that was reclaimed stays so when the worker restarts.
#ifndef HPC_WORKER_OWNER_OWNER_FILE_H_
#define HPC_WORKER_OWNER_OWNER_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/core/owner_state.h"

namespace hpc::worker {

// A missing file means that the PC is lent. DataLoss: the file is damaged.
absl::StatusOr<OwnerState> ReadOwnerFile(const std::string& state_dir);
// The file is durable when this returns.
absl::Status WriteOwnerFile(const std::string& state_dir, const OwnerState& state);

}  // namespace hpc::worker

#endif  // HPC_WORKER_OWNER_OWNER_FILE_H_
