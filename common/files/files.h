// Reads small files, and replaces them as a whole.
#ifndef HPC_COMMON_FILES_FILES_H_
#define HPC_COMMON_FILES_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace hpc {

// Returns the status for errno after `what` ("open /x/y") failed: NotFound, PermissionDenied,
// ResourceExhausted (ENOSPC, EDQUOT, EMFILE, ENFILE), AlreadyExists, FailedPrecondition (EROFS,
// ENOTDIR ...), else Internal. The message is "<what>: <strerror>".
absl::Status ErrnoStatus(int error, absl::string_view what);

// Adds the file's name to the status of reading what it holds: "<path>: <message>".
absl::Status InFile(absl::string_view path, const absl::Status& status);

// Reads at most `max_bytes`. NotFound: no such file.
absl::StatusOr<std::string> ReadFile(const std::string& path, size_t max_bytes = 64 << 20);

// Does the same from a descriptor's current position on. `path` is for the error.
absl::StatusOr<std::string> ReadOpenFile(int fd, absl::string_view path, size_t max_bytes);

// Replaces the file whole or not at all, in four steps: write a temporary file, fsync it, rename
// it, fsync the folder.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view content,
                                 int mode = 0600);

// Works like mkdir -p. Only the last folder gets `mode`; missing folders above it get 0755.
absl::Status MakeDirs(const std::string& path, int mode = 0755);

// Does the same, and the folders that were made survive a power cut. This takes a while on some
// disks.
absl::Status MakeDirsDurably(const std::string& path, int mode = 0755);

// Makes the content of a file, or the names in a folder, survive a power cut. This takes a while on
// some disks.
absl::Status Sync(const std::string& path);

// Removes what WriteFileAtomically left in `folder` when its process was killed. Only the sole
// writer of the folder may call it.
void RemoveUnfinished(const std::string& folder);

// Returns the names in a folder, without "." and "..", in no order. NotFound: there is no such
// folder.
absl::StatusOr<std::vector<std::string>> NamesIn(const std::string& folder);
// Does the same for a folder that is open for reading.
absl::StatusOr<std::vector<std::string>> NamesIn(int folder);

// Works like rm -rf. It never follows symbolic links, and it also removes folders that their owner
// has closed.
absl::Status RemoveTree(const std::string& path);

// Removes all that is in a folder in the same way, but not the folder itself.
absl::Status EmptyTree(const std::string& path);

}  // namespace hpc

#endif  // HPC_COMMON_FILES_FILES_H_
