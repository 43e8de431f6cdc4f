// One backup in progress. It is made on a thread of its own, and then read piece by piece.
#ifndef HPC_COORDINATOR_RUNTIME_BACKUP_JOB_H_
#define HPC_COORDINATOR_RUNTIME_BACKUP_JOB_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/unique_fd.h"
#include "coordinator/store/backup/backup_maker.h"

namespace hpc::coordinator {

// All methods are called on the owner's thread. Nothing is left on disk when the object is
// destroyed, nor when the process is killed after the backup was made.
class BackupJob {
 public:
  // Errors are those of BackupMaker::Begin.
  static absl::StatusOr<std::unique_ptr<BackupJob>> Start(const std::string& state_dir,
                                                          bool with_logs, absl::Time now);
  // Ends the backup, which takes a moment at most.
  ~BackupJob();

  // What it is doing, in words.
  std::string doing() const;
  // How it ended, with the errors of BackupMaker::Make; nullopt while the backup is being made.
  std::optional<absl::Status> result() const;

  // The size of the file, once the result is OK.
  int64_t bytes() const;
  // The next piece; empty at the end.
  absl::StatusOr<std::string> Read();

 private:
  BackupJob(const std::string& state_dir, std::unique_ptr<BackupMaker> maker);
  void Make();
  absl::Status TakeFile();

  const std::string path_;
  const std::unique_ptr<BackupMaker> maker_;
  mutable absl::Mutex mutex_;
  std::string doing_ ABSL_GUARDED_BY(mutex_) = "begins a backup";
  std::optional<absl::Status> result_ ABSL_GUARDED_BY(mutex_);
  UniqueFd file_;  // has no name any more; the maker's thread owns it until there is a result
  int64_t bytes_ = 0;
  int64_t read_ = 0;
  std::thread thread_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RUNTIME_BACKUP_JOB_H_
