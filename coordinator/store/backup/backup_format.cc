#include "coordinator/store/backup/backup_format.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "common/files/sha256.h"
#include "common/status_macros.h"

namespace hpc::coordinator {
namespace {

void AddRow(Row& row, Sha256* hash) {
  const int columns = row.columns();
  for (int i = 0; i < columns; ++i) {
    const std::string value = row.Text();
    hash->Add(absl::StrCat(value.size(), ":"));
    hash->Add(value);
  }
}

}  // namespace

std::string ContentHash(absl::string_view bytes) { return Sha256Hex(bytes); }

absl::StatusOr<std::string> ContentHash(Connection* db) {
  std::vector<std::string> tables;
  HPC_RETURN_IF_ERROR(
      db->Sql("SELECT name FROM sqlite_schema WHERE type = 'table' AND "
              "name NOT IN ('backup', 'backup_files') AND name NOT LIKE 'sqlite_%' ORDER BY name")
          .Query([&](Row& row) { tables.push_back(row.Text()); }));
  Sha256 hash;
  for (const std::string& table : tables) {
    hash.Add(table);
    HPC_RETURN_IF_ERROR(
        db->Sql(absl::StrCat("SELECT * FROM \"", table, "\" NOT INDEXED")).Query([&](Row& row) {
          AddRow(row, &hash);
        }));
  }
  return hash.Hex();
}

}  // namespace hpc::coordinator
