// The owner's wish on disk: a PC that was taken back stays so over a restart of the worker.
#ifndef HPC_WORKER_OWNER_OWNER_FILE_H_
#define HPC_WORKER_OWNER_OWNER_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/core/owner_state.h"

namespace hpc::worker {

// A missing file: lent. DataLoss: the file is damaged.
absl::StatusOr<OwnerState> ReadOwnerFile(const std::string& state_dir);
// Durable when it returns.
absl::Status WriteOwnerFile(const std::string& state_dir, const OwnerState& state);

}  // namespace hpc::worker

#endif  // HPC_WORKER_OWNER_OWNER_FILE_H_
