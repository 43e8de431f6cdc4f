// A daemon's state directory: made, marked and locked before anything in it is touched.
#ifndef HPC_COMMON_FILES_STATE_DIR_H_
#define HPC_COMMON_FILES_STATE_DIR_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/unique_fd.h"

namespace hpc {

// Holds the lock for as long as it lives.
class StateDir {
 public:
  // Makes `path` (0700) if it does not exist, checks that it belongs to this kind of daemon
  // ("coordinator", "worker") by its marker file, locks it, and removes files in it that were being
  // written (RemoveUnfinished) when an earlier holder was killed.
  // FailedPrecondition: it holds something else (not empty and without our marker, or another
  // kind's marker). AlreadyExists: another process holds the lock (its pid is named).
  // PermissionDenied: not writable. ResourceExhausted: no space. InvalidArgument: not a directory,
  // or `path` is empty.
  static absl::StatusOr<StateDir> Open(absl::string_view path, absl::string_view kind);

  const std::string& path() const { return path_; }
  std::string File(absl::string_view name) const;

 private:
  StateDir(std::string path, UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  UniqueFd lock_;
};

}  // namespace hpc

#endif  // HPC_COMMON_FILES_STATE_DIR_H_
