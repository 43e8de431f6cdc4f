// The file that a backup is written to. It is there under its name as a whole, or not at all.
#ifndef HPC_CLIENT_CLI_COMMANDS_CLUSTER_BACKUP_FILE_H_
#define HPC_CLIENT_CLI_COMMANDS_CLUSTER_BACKUP_FILE_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/unique_fd.h"

namespace hpc::client {

class BackupFile {
 public:
  // Begins "<path>.tmp", readable by its owner alone. AlreadyExists: there is a file at `path`, and
  // `replace` is false. Other errors are those of the file system.
  static absl::StatusOr<BackupFile> Begin(const std::string& path, bool replace);
  // Removes a file that is not finished.
  ~BackupFile();
  BackupFile(BackupFile&&) noexcept = default;
  BackupFile& operator=(BackupFile&&) = delete;

  // ResourceExhausted: there is no space for `total` bytes.
  absl::Status Write(absl::string_view data, int64_t total);
  // Makes the file durable, under its name. DataLoss: it does not have `total` bytes.
  absl::Status Finish(int64_t total);

  int64_t written() const { return written_; }

 private:
  BackupFile(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  std::string Temporary() const { return path_ + ".tmp"; }

  std::string path_;
  UniqueFd fd_;  // none: the file is finished, or was moved from here
  int64_t written_ = 0;
};

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_COMMANDS_CLUSTER_BACKUP_FILE_H_
