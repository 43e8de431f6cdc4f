// Writes small files that need not survive a power cut: the processes they tell of do not survive
// it, either. If such a file must survive it, its owner syncs it while nobody waits.
#ifndef HPC_WORKER_SUPERVISOR_CLIENT_QUICK_FILE_H_
#define HPC_WORKER_SUPERVISOR_CLIENT_QUICK_FILE_H_

#include <string>

#include "absl/status/status.h"

namespace hpc::worker {

// Replaces what the file holds. Ranks of our own account can put a pipe or a link in its place.
// That is an error, and holds nobody up.
absl::Status WriteQuickly(const std::string& path, const std::string& text);

// Appends to the file, all or nothing.
absl::Status AppendQuickly(const std::string& path, const std::string& text);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_CLIENT_QUICK_FILE_H_
