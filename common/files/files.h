// Small files, read and replaced whole.
#ifndef HPC_COMMON_FILES_FILES_H_
#define HPC_COMMON_FILES_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace hpc {

// Status of errno after `what` ("open /x/y") failed: NotFound, PermissionDenied, ResourceExhausted
// (ENOSPC, EDQUOT, EMFILE, ENFILE), AlreadyExists, FailedPrecondition (EROFS, ENOTDIR ...), else
// Internal. The message is "<what>: <strerror>".
absl::Status ErrnoStatus(int error, absl::string_view what);

// The status of reading what a file holds, with the file's name: "<path>: <message>".
absl::Status InFile(absl::string_view path, const absl::Status& status);

// At most `max_bytes` are read. NotFound: no such file.
absl::StatusOr<std::string> ReadFile(const std::string& path, size_t max_bytes = 64 << 20);

// The same from a descriptor's position on; `path` is for the error.
absl::StatusOr<std::string> ReadOpenFile(int fd, absl::string_view path, size_t max_bytes);

// Replaces the file whole or not at all: temporary file, fsync, rename, fsync of the folder.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view content,
                                 int mode = 0600);

// mkdir -p: the mode is the last folder's, and those above it that are missing get 0755.
absl::Status MakeDirs(const std::string& path, int mode = 0755);

// The same, and what was made is there after a power cut. Takes a while on some disks.
absl::Status MakeDirsDurably(const std::string& path, int mode = 0755);

// What a file holds, or what names are in a folder, is so after a power cut. Takes a while on some
// disks.
absl::Status Sync(const std::string& path);

// Removes what WriteFileAtomically left in `folder` when its process was killed. For who is the
// only one to write there.
void RemoveUnfinished(const std::string& folder);

// What is in a folder, without "." and "..", in no order. NotFound: there is no such folder.
absl::StatusOr<std::vector<std::string>> NamesIn(const std::string& folder);
// The same of one that is open to be read.
absl::StatusOr<std::vector<std::string>> NamesIn(int folder);

// rm -rf, never following symbolic links, and also of folders that their owner has closed.
absl::Status RemoveTree(const std::string& path);

// The same of all that is in a folder, and not of itself.
absl::Status EmptyTree(const std::string& path);

}  // namespace hpc

#endif  // HPC_COMMON_FILES_FILES_H_
