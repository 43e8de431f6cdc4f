#include "coordinator/store/backup_format.h"

#include <openssl/evp.h>

#include <memory>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace hpc::coordinator {
namespace {

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr);
  }
  void Add(absl::string_view bytes) {
    EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
  }
  std::string Hex() {
    std::string digest(EVP_MAX_MD_SIZE, '\0');
    unsigned int size = 0;
    EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(digest.data()), &size);
    digest.resize(size);
    return absl::BytesToHexString(digest);
  }

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

void AddRow(Row& row, Sha256* hash) {
  const int columns = row.columns();
  for (int i = 0; i < columns; ++i) {
    const std::string value = row.Text();
    hash->Add(absl::StrCat(value.size(), ":"));
    hash->Add(value);
  }
}

}  // namespace

std::string ContentHash(absl::string_view bytes) {
  Sha256 hash;
  hash.Add(bytes);
  return hash.Hex();
}

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
