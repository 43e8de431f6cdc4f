// The roster knows who was let in, with what, and who is not any more. Pure: every method takes the
// time, and returns the records that must be made durable.
#ifndef HPC_COORDINATOR_TRUST_ROSTER_H_
#define HPC_COORDINATOR_TRUST_ROSTER_H_

#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "coordinator/trust/records.h"

namespace hpc::coordinator {

inline constexpr int32_t kMaxTokenUses = 1000;
inline constexpr absl::Duration kMaxTokenLifetime = absl::Hours(24 * 30);

struct TokenRequest {
  pki::Role role = pki::Role::kWorker;
  std::string name;
  int32_t uses = 1;
  absl::Duration lifetime = absl::Hours(1);
  std::string by;
};

// The state in words: "usable", "used up", "expired", "revoked".
absl::string_view TokenState(const TokenRecord& token, absl::Time now);

class Roster {
 public:
  explicit Roster(TrustSnapshot snapshot);

  // ---- tokens
  // InvalidArgument: nobody joins with this role, the name is malformed, uses or lifetime are out
  // of bounds, or a name is given for more than one use. AlreadyExists: the name differs from a
  // member's only in case.
  absl::StatusOr<TokenRecord> CreateToken(absl::Time now, const TokenRequest& request,
                                          absl::string_view secret);
  // NotFound: there is no such token. A token that is of no use any more is left as it is.
  absl::StatusOr<TokenRecord> RevokeToken(absl::string_view id);
  // Called after the authority that the tokens carry has changed.
  std::vector<TokenRecord> RevokeAllTokens(absl::Time now);
  std::vector<TokenRecord> Tokens() const;  // newest first

  struct Admission {
    TokenRecord token;                        // has one use less
    std::vector<CertificateRecord> replaced;  // of a PC, revoked in favour of the new one
  };
  // Takes one use of the token for a member of this role and name. After an error nothing is taken.
  // Unauthenticated: the token is unknown, expired, used up or revoked. PermissionDenied: it is for
  // another role or name. AlreadyExists: there is a member of this name and the token was not made
  // for this name, or there is a member whose name differs only in case; the error says what to do.
  // InvalidArgument: the name is malformed.
  absl::StatusOr<Admission> Redeem(absl::Time now, absl::string_view secret, pki::Role role,
                                   const std::string& name);

  // Whether there is such a token and it was made for one name.
  bool IsNamed(absl::string_view secret) const;

  // ---- certificates
  struct Revocation {
    std::vector<CertificateRecord> certificates;  // certificates of one member
    bool shut_out = false;                        // the member has no other certificate
    std::vector<TokenRecord> tokens;              // would have let the shut-out member in again
  };
  void Add(const CertificateRecord& certificate);
  bool Knows(const std::string& serial) const { return certificates_.contains(serial); }
  // Unauthenticated: the certificate was revoked; says by whom and why.
  absl::Status CheckNotRevoked(const std::string& serial) const;
  // `subject` is a serial, "role/name", or a name that only one member has. NotFound: nothing valid
  // has this name. InvalidArgument: more than one member has it.
  absl::StatusOr<Revocation> Revoke(absl::Time now, absl::string_view subject,
                                    const std::string& by, const std::string& reason);
  std::vector<CertificateRecord> Certificates() const;  // newest first
  // Whether a member of this role and name has a certificate that is valid at `now`.
  bool IsMember(absl::Time now, pki::Role role, const std::string& name) const;

 private:
  absl::Status CheckUnlike(absl::Time now, pki::Role role, const std::string& name) const;
  bool WasRevoked(pki::Role role, const std::string& name) const;
  std::vector<CertificateRecord*> ValidOf(absl::Time now, pki::Role role, const std::string& name);
  absl::Status CheckName(absl::Time now, const TokenRecord& token, const std::string& name);
  std::vector<TokenRecord> RevokeTokens(absl::Time now,
                                        absl::FunctionRef<bool(const TokenRecord&)> meant);

  absl::flat_hash_map<std::string, TokenRecord> tokens_;  // by the secret's hash
  std::map<std::string, CertificateRecord> certificates_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_TRUST_ROSTER_H_
