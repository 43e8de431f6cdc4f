// What is stored about tokens and certificates. Plain values.
#ifndef HPC_COORDINATOR_TRUST_RECORDS_H_
#define HPC_COORDINATOR_TRUST_RECORDS_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "common/pki/identity.h"

namespace hpc::coordinator {

struct TokenRecord {
  std::string id;           // pki::TokenId of its secret
  std::string secret_hash;  // SHA-256, hexadecimal; the secret itself is not kept
  pki::Role role = pki::Role::kWorker;
  std::string name;  // only this name may join with it; "": any new name
  int32_t uses_left = 0;
  std::string created_by;
  absl::Time created_at;
  absl::Time expires_at;
  bool revoked = false;

  bool operator==(const TokenRecord&) const = default;
};

struct CertificateRecord {
  std::string serial;
  pki::Role role = pki::Role::kWorker;
  std::string name;
  absl::Time issued_at;
  absl::Time expires_at;
  std::string issued_to;                           // the address that asked
  absl::Time revoked_at = absl::InfiniteFuture();  // InfiniteFuture: it is not revoked
  std::string revoked_by;
  std::string reason;

  bool revoked() const { return revoked_at != absl::InfiniteFuture(); }
  bool operator==(const CertificateRecord&) const = default;
};

using TrustRecord = std::variant<TokenRecord, CertificateRecord>;

// What a restarted coordinator begins from: everything that has not been forgotten.
struct TrustSnapshot {
  std::vector<TokenRecord> tokens;
  std::vector<CertificateRecord> certificates;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_TRUST_RECORDS_H_
