// Reading what another account has written, or put in the place of what it should have written.
#ifndef HPC_WORKER_SUPERVISION_FOREIGN_FILE_H_
#define HPC_WORKER_SUPERVISION_FOREIGN_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace hpc::worker {

// Opens `path` for reading. A worker that runs as root must not be led by a link to a file that the
// ranks could not read themselves, nor be held up by a pipe: PermissionDenied unless it is a plain
// file, by its own name, of the account that its folder belongs to. NotFound: no such file.
absl::StatusOr<UniqueFd> OpenForeignFile(const std::string& path);

// At most the first `max_bytes` of it.
absl::StatusOr<std::string> ReadForeignFile(const std::string& path, size_t max_bytes);

// 0: it cannot be opened so.
int64_t ForeignFileSize(const std::string& path);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISION_FOREIGN_FILE_H_
