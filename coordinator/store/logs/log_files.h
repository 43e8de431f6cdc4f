// The file operations that the logs are made of, and nothing else. A test can thus make any of them
// the last one before a crash, or the first one for which there is no space.
#ifndef HPC_COORDINATOR_STORE_LOGS_LOG_FILES_H_
#define HPC_COORDINATOR_STORE_LOGS_LOG_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace hpc::coordinator {

// Errors are those of ErrnoStatus and name the file. Nothing is durable before it is synced: Sync
// covers the content of a file, and SyncFolder its name (that it exists, is renamed, or is gone).
class LogFiles {
 public:
  virtual ~LogFiles() = default;

  // Names in a folder; none if there is no such folder.
  virtual absl::StatusOr<std::vector<std::string>> List(const std::string& dir) = 0;
  virtual absl::StatusOr<int64_t> Size(const std::string& path) = 0;
  // Returns fewer bytes at the end of the file.
  virtual absl::StatusOr<std::string> Read(const std::string& path, int64_t offset,
                                           int64_t length) = 0;

  // Makes the folder with its parents; it may exist already.
  virtual absl::Status MakeDir(const std::string& dir) = 0;
  // Makes the file if it does not exist. After an error the file may contain any part of `data`.
  virtual absl::Status Write(const std::string& path, int64_t offset, absl::string_view data) = 0;
  virtual absl::Status Sync(const std::string& path) = 0;
  virtual absl::Status Truncate(const std::string& path, int64_t size) = 0;
  // Replaces `to`.
  virtual absl::Status Rename(const std::string& from, const std::string& to) = 0;
  // The file need not exist.
  virtual absl::Status Remove(const std::string& path) = 0;
  virtual absl::Status SyncFolder(const std::string& dir) = 0;
};

// The operations of the real file system.
LogFiles* PosixLogFiles();

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_STORE_LOGS_LOG_FILES_H_
