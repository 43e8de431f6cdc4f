#include "coordinator/store/migrations.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace hpc::coordinator {
namespace {

absl::StatusOr<int64_t> Version(Connection* db) { return db->ReadNumber("PRAGMA user_version"); }

}  // namespace

absl::Status CheckVersion(Connection* db, const std::vector<std::string>& migrations) {
  HPC_ASSIGN_OR_RETURN(const int64_t owner, db->ReadNumber("PRAGMA application_id"));
  HPC_ASSIGN_OR_RETURN(const int64_t tables, db->ReadNumber("SELECT count(*) FROM sqlite_schema"));
  if (owner != kApplicationId && tables > 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(db->path(),
                     ": a database of another application: name an empty state directory, or one "
                     "that hpc-coordinator made"));
  }
  HPC_ASSIGN_OR_RETURN(const int64_t version, Version(db));
  if (version < 0) {
    return absl::DataLossError(absl::StrCat(db->path(), ": damaged (its schema has version ",
                                            version, "): ", kDamagedAdvice));
  }
  const auto known = static_cast<int64_t>(migrations.size());
  if (version > known) {
    return absl::FailedPreconditionError(
        absl::StrCat(db->path(), ": its schema has version ", version,
                     ", this hpc-coordinator knows versions up to ", known,
                     ": start a newer hpc-coordinator; nothing was changed"));
  }
  return absl::OkStatus();
}

absl::Status Migrate(Connection* db, const std::vector<std::string>& migrations) {
  HPC_ASSIGN_OR_RETURN(const int64_t before, Version(db));
  if (before == static_cast<int64_t>(migrations.size())) return absl::OkStatus();
  return db->InTransaction([&]() -> absl::Status {
    // The version is read again under the lock, since another process may have been faster.
    HPC_ASSIGN_OR_RETURN(const int64_t from, Version(db));
    for (size_t step = from; step < migrations.size(); ++step) {
      HPC_RETURN_IF_ERROR(db->Execute(migrations[step]));
    }
    return db->Execute(absl::StrCat("PRAGMA application_id = ", kApplicationId,
                                    "; PRAGMA user_version = ", migrations.size()));
  });
}

}  // namespace hpc::coordinator
