// A backup is one SQLite file. It is the coordinator's database as it was at one moment, and it
// also holds the other files that belong to it. docs/STORAGE.md describes it.
#ifndef HPC_COORDINATOR_STORE_BACKUP_BACKUP_FORMAT_H_
#define HPC_COORDINATOR_STORE_BACKUP_BACKUP_FORMAT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coordinator/store/sqlite.h"

namespace hpc::coordinator {

// The PRAGMA application_id of a backup ("hpcb"). It keeps a coordinator from taking a backup for
// its own database.
inline constexpr int64_t kBackupId = 0x68706362;

// The one row of the table `backup` is written last: without it the file is incomplete.
inline constexpr char kBackupTables[] = R"(
CREATE TABLE backup (
  made_at      INTEGER NOT NULL,
  made_by      TEXT NOT NULL,     -- version of the coordinator
  with_logs    INTEGER NOT NULL,
  files        INTEGER NOT NULL,  -- rows of backup_files
  content_hash TEXT NOT NULL      -- of all other tables
);
CREATE TABLE backup_files (
  path    TEXT PRIMARY KEY,       -- below the state directory
  sha256  TEXT NOT NULL,
  content BLOB NOT NULL
) WITHOUT ROWID;
)";
inline constexpr char kDropBackupTables[] = "DROP TABLE backup; DROP TABLE backup_files;";

// In hexadecimal digits.
std::string ContentHash(absl::string_view bytes);

// Covers every row of every table except those that only a backup has. SQLite has no checksums, so
// nothing else finds damage inside a value.
absl::StatusOr<std::string> ContentHash(Connection* db);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_STORE_BACKUP_BACKUP_FORMAT_H_
