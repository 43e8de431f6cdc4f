// The Store in one SQLite file (docs/STORAGE.md).
#ifndef HPC_COORDINATOR_STORE_SQLITE_STORE_H_
#define HPC_COORDINATOR_STORE_SQLITE_STORE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/store/store.h"

namespace hpc::coordinator {

struct SqliteStoreOptions {
  // How long a write waits for another process that writes to the same file. It is shorter than a
  // node's lease, since the coordinator does nothing else meanwhile.
  absl::Duration busy_timeout = absl::Seconds(2);
  // Makes the write-ahead log at once as long as it ever gets, if the disk has room for it. Commits
  // are then a tenth of a millisecond faster, and more on file systems that journal the growth of a
  // file.
  bool lengthen_log = false;
};

// Opens `path`, or makes it if it does not exist, and brings its schema up to date. Other processes
// may read the file while it is open. A file that is damaged, newer or not ours is refused and left
// as it is:
//   DataLoss            no SQLite database, or damaged (the tables that a start reads are checked)
//   FailedPrecondition  a newer schema (both versions are named), another application's database, a
//                       new file on a read-only file system, or a file system without shared
//                       memory (NFS)
//   PermissionDenied    cannot be written
//   ResourceExhausted   no space left
//   Unavailable         locked by another process for longer than the busy timeout
absl::StatusOr<std::unique_ptr<Store>> OpenSqliteStore(const std::string& path,
                                                       const SqliteStoreOptions& options = {});

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_STORE_SQLITE_STORE_H_
