// Writing small files that need not survive a power cut: no process is left after one either.
// Whoever has a file that does syncs it while nobody waits.
#ifndef HPC_WORKER_SUPERVISION_QUICK_FILE_H_
#define HPC_WORKER_SUPERVISION_QUICK_FILE_H_

#include <string>

#include "absl/status/status.h"

namespace hpc::worker {

// Replaces what the file holds. A pipe or a link in its place, which ranks of our own account can
// put there, is an error and holds nobody up.
absl::Status WriteQuickly(const std::string& path, const std::string& text);

// Adds to it, all or nothing.
absl::Status AppendQuickly(const std::string& path, const std::string& text);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISION_QUICK_FILE_H_
