// A backup: one SQLite file that is the coordinator's database as it was at one moment, and in it
// the other files that belong to it. docs/STORAGE.md describes it.
#ifndef HPC_COORDINATOR_STORE_BACKUP_BACKUP_FORMAT_H_
#define HPC_COORDINATOR_STORE_BACKUP_BACKUP_FORMAT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coordinator/store/sqlite.h"

namespace hpc::coordinator {

// PRAGMA application_id of a backup, so that no coordinator takes it for its database: "hpcb".
inline constexpr int64_t kBackupId = 0x68706362;

// `backup` gets its one row last: without it the file is not whole.
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

// Of every row of every table but those of a backup. SQLite has no checksums: damage inside a value
// is found by this alone.
absl::StatusOr<std::string> ContentHash(Connection* db);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_STORE_BACKUP_BACKUP_FORMAT_H_
