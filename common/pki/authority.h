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

// The name that the coordinator's certificate bears and that every member expects, wherever the
// coordinator listens. A fixed name is safe because a cluster has an authority of its own;
// addresses would not do, because they change at home.
inline constexpr absl::string_view kCoordinatorHost = "coordinator.hpc";

// Certificates become valid this long before they are signed, because clocks at home differ.
inline constexpr absl::Duration kBackdate = absl::Hours(1);
inline constexpr absl::Duration kMemberLifetime = absl::Hours(24 * 90);
inline constexpr absl::Duration kAuthorityLifetime = absl::Hours(24 * 365 * 20);

class Authority {
 public:
  // Makes a new key with its self-signed certificate. `cluster` is as in Identity.
  static absl::StatusOr<Authority> Create(const std::string& cluster, absl::Time now);

  // InvalidArgument: the certificate does not belong to this key, or is not an authority's.
  static absl::StatusOr<Authority> From(const Certificate& certificate, const PrivateKey& key);

  // Signs a certificate for the key of `request`. It is valid from kBackdate before `now` for
  // `lifetime`. A coordinator's is for use as a server's, any other for use as a client's.
  absl::StatusOr<Certificate> Sign(const SigningRequest& request, const Identity& identity,
                                   absl::Time now, absl::Duration lifetime) const;

  // Signs `other`'s public key with this authority: whoever trusts this one can follow the chain to
  // `other`.
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
