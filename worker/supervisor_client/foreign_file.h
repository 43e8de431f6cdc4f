// Reads what another account has written, or has put in the place of what it should have written.
#ifndef HPC_WORKER_SUPERVISOR_CLIENT_FOREIGN_FILE_H_
#define HPC_WORKER_SUPERVISOR_CLIENT_FOREIGN_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/unique_fd.h"

namespace hpc::worker {

// Opens `path` for reading. A link must not lead root's worker to a file that the ranks could not
// read themselves, and a pipe must not hold it up. PermissionDenied: it is not a plain file under
// its own name that belongs to the account of its folder. NotFound: there is no such file.
absl::StatusOr<UniqueFd> OpenForeignFile(const std::string& path);

// Reads at most the first `max_bytes` of the file.
absl::StatusOr<std::string> ReadForeignFile(const std::string& path, size_t max_bytes);

// 0: the file cannot be opened this way.
int64_t ForeignFileSize(const std::string& path);

// When it was last written to. InfinitePast: the file cannot be opened this way.
absl::Time ForeignFileWritten(const std::string& path);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_CLIENT_FOREIGN_FILE_H_
