// Makes a coordinator's state directory from a backup.
#ifndef HPC_COORDINATOR_STORE_BACKUP_BACKUP_RESTORER_H_
#define HPC_COORDINATOR_STORE_BACKUP_BACKUP_RESTORER_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/ids.h"

namespace hpc::coordinator {

// The numbers of a restored state jump by this much, since a backup does not know which numbers
// were given out after it was made.
inline constexpr RunId kRunsSkipped = 100'000;
inline constexpr int32_t kAttemptsSkipped = 1'000;
inline constexpr EventId kEventsSkipped = 10'000'000;

struct RestoredBackup {
  absl::Time made_at;
  int64_t runs = 0;
  int64_t live_runs = 0;  // runs that are not over
  RunId next_run = 0;
  bool with_logs = false;
  bool has_authority = false;  // its key is in the backup, and is not kept elsewhere
};

// Restores everything or nothing. The state is built in `state_dir`.restoring, and is renamed once
// it is complete and on disk. `state_dir` may exist if it is empty; then its owner owns the new
// state. Tokens are void in the new state, since the backup does not know which were used after it.
//   AlreadyExists       there is something in `state_dir`; names it
//   NotFound            no such file
//   InvalidArgument     the file is no backup
//   DataLoss            it is damaged: what it holds is not what was written, or no
//                       coordinator could start with it
//   FailedPrecondition  it is of a newer version, or `state_dir` cannot be replaced
//   ResourceExhausted   no space
absl::StatusOr<RestoredBackup> RestoreBackup(const std::string& file, const std::string& state_dir,
                                             absl::Time now);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_STORE_BACKUP_BACKUP_RESTORER_H_
