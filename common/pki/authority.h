// The cluster's certificate authority: a key that signs every member's certificate.
#ifndef HPC_COMMON_PKI_AUTHORITY_H_
#define HPC_COMMON_PKI_AUTHORITY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/pki/certificate.h"
#include "common/pki/identity.h"
#include "common/pki/private_key.h"
#include "common/pki/signing_request.h"

namespace hpc::pki {

// The name that the coordinator's certificate bears and every member expects, wherever the
// coordinator listens: addresses at home change, and a cluster has one authority of its own.
inline constexpr absl::string_view kCoordinatorHost = "coordinator.hpc";

// Certificates begin so long before they are signed: clocks at home differ.
inline constexpr absl::Duration kBackdate = absl::Hours(1);
inline constexpr absl::Duration kMemberLifetime = absl::Hours(24 * 90);
inline constexpr absl::Duration kAuthorityLifetime = absl::Hours(24 * 365 * 20);

class Authority {
 public:
  // A new key with its self-signed certificate. `cluster`: as in Identity.
  static absl::StatusOr<Authority> Create(const std::string& cluster, absl::Time now);

  // InvalidArgument: the certificate is not of this key, or is no authority's.
  static absl::StatusOr<Authority> From(const Certificate& certificate, const PrivateKey& key);

  // For the key of `request`, valid from kBackdate before `now` for `lifetime`, for use as a
  // client's, or as a server's where the role is coordinator.
  absl::StatusOr<Certificate> Sign(const SigningRequest& request, const Identity& identity,
                                   absl::Time now, absl::Duration lifetime) const;

  // `other`'s public key, signed by this authority: who trusts this one can follow to `other`.
  absl::StatusOr<Certificate> CrossSign(const Authority& other, absl::Time now) const;

  const Certificate& certificate() const { return certificate_; }
  const PrivateKey& key() const { return key_; }

 private:
  Authority(Certificate certificate, PrivateKey key)
      : certificate_(std::move(certificate)), key_(std::move(key)) {}
  Certificate certificate_;
  PrivateKey key_;
};

}  // namespace hpc::pki

#endif  // HPC_COMMON_PKI_AUTHORITY_H_
