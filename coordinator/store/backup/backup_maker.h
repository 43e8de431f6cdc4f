// Makes a backup of the state directory of a running coordinator. It works beside the owner thread
// and does not hold it up.
#ifndef HPC_COORDINATOR_STORE_BACKUP_BACKUP_MAKER_H_
#define HPC_COORDINATOR_STORE_BACKUP_BACKUP_MAKER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "coordinator/store/sqlite.h"

namespace hpc::coordinator {

// Where the unfinished backup is. The next start removes what an earlier process has left there.
std::string UnfinishedBackup(const std::string& state_dir);

class BackupMaker {
 public:
  // On the owner's thread: reads the keys here, since that thread replaces them file by file.
  // Errors are those of the file system.
  static absl::StatusOr<std::unique_ptr<BackupMaker>> Begin(const std::string& state_dir,
                                                            bool with_logs, absl::Time now);

  // On another thread: writes the whole backup to UnfinishedBackup(), readable by its owner alone.
  // `say` is told what is being done, in words. On failure there is no file.
  // ResourceExhausted: not enough space; says how much is needed. Aborted: cancelled.
  absl::Status Make(const std::function<void(const std::string&)>& say);

  // From any thread: Make ends soon.
  void Cancel();

 private:
  using File = std::pair<std::string, std::string>;  // path below the state directory, content

  BackupMaker(std::string state_dir, bool with_logs, absl::Time now)
      : state_dir_(std::move(state_dir)), with_logs_(with_logs), now_(now) {}

  absl::Status MakeFile(const std::function<void(const std::string&)>& say);
  absl::Status CheckSpace(Connection* db);
  absl::Status CopyDatabase();
  absl::Status AddRest(Connection* db, const std::function<void(const std::string&)>& say);
  absl::Status AddLogs(Connection* db, const std::function<void(const std::string&)>& say);
  absl::Status AddRun(Connection* db, const std::string& folder);
  absl::Status AddSecrets(Connection* db);
  absl::Status AddFile(Connection* db, const std::string& path, const std::string& content);
  absl::Status Cancelled() const;
  // Makes `db` the connection that Cancel interrupts.
  void Work(Connection* db);
  std::string InState(const std::string& path) const { return state_dir_ + "/" + path; }

  const std::string state_dir_;
  const bool with_logs_;
  const absl::Time now_;
  std::vector<File> keys_;
  int64_t files_ = 0;
  int64_t log_bytes_ = 0;  // an estimate
  int64_t log_bytes_added_ = 0;
  std::atomic<bool> cancelled_ = false;
  absl::Mutex mutex_;
  Connection* working_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_STORE_BACKUP_BACKUP_MAKER_H_
