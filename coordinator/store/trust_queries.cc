#include "common/status_macros.h"
#include "coordinator/store/rows.h"
#include "coordinator/store/sqlite_queries.h"

namespace hpc::coordinator {

absl::StatusOr<TrustSnapshot> QueryTrust(Connection* db) {
  TrustSnapshot trust;
  HPC_RETURN_IF_ERROR(db->Sql(SelectSql(kTokens, "")).Query([&](Row& row) {
    trust.tokens.push_back(ReadToken(row));
  }));
  HPC_RETURN_IF_ERROR(db->Sql(SelectSql(kCertificates, "")).Query([&](Row& row) {
    trust.certificates.push_back(ReadCertificate(row));
  }));
  return trust;
}

}  // namespace hpc::coordinator
