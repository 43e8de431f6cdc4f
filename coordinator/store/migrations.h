// The database's schema as a sequence of numbered steps, kept as SQL in migrations/. The number of
// the newest step that a database has is its PRAGMA user_version.
#ifndef HPC_COORDINATOR_STORE_MIGRATIONS_H_
#define HPC_COORDINATOR_STORE_MIGRATIONS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "coordinator/store/sqlite.h"

namespace hpc::coordinator {

// Marks a file as ours (PRAGMA application_id): "hpc1".
inline constexpr int64_t kApplicationId = 0x68706331;

// Step i takes a database from version i to i + 1.
const std::vector<std::string>& SchemaMigrations();

// Refuses what Migrate must not touch, before anything is changed. FailedPrecondition: the database
// is newer than the last of `migrations` (both numbers are named), or belongs to another
// application. DataLoss: its version is one that no database can have.
absl::Status CheckVersion(Connection* db, const std::vector<std::string>& migrations);

// Brings the database to the last of `migrations` in one transaction. A crash or an error leaves
// the old version whole.
absl::Status Migrate(Connection* db, const std::vector<std::string>& migrations);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_STORE_MIGRATIONS_H_
