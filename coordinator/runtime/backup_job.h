// One backup on its way: made on a thread of its own, then read piece by piece.
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

// All methods are the owner thread's. Nothing is left on disk when it dies, nor when the process is
// killed once the backup is made.
class BackupJob {
 public:
  // Errors as of BackupMaker::Begin.
  static absl::StatusOr<std::unique_ptr<BackupJob>> Start(const std::string& state_dir,
                                                          bool with_logs, absl::Time now);
  // Ends it, which takes a moment at most.
  ~BackupJob();

  // What it is doing, in words.
  std::string doing() const;
  // How it ended, as of BackupMaker::Make; nullopt while it is being made.
  std::optional<absl::Status> result() const;

  // Of the file, once the result is OK.
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
  UniqueFd file_;  // has no name any more; the thread's until there is a result
  int64_t bytes_ = 0;
  int64_t read_ = 0;
  std::thread thread_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RUNTIME_BACKUP_JOB_H_
