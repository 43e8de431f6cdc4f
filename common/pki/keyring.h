// The master's folder of keys: the authority's own, and those it was or will be.
//   authority.key    the private key, 0600; elsewhere or encrypted if asked
//   authority.pem    its certificate
//   cluster          the cluster's id
//   trusted.pem      former authorities, each after a line "until SECONDS"
//   bridges.pem      the authority's key signed by former ones, for who knows only those
//   coordinator.key  the coordinator's own, 0600
//   coordinator.pem  the chain that it shows
//   founder.pem      the certificate of the first admin (founder.h)
#ifndef HPC_COMMON_PKI_KEYRING_H_
#define HPC_COMMON_PKI_KEYRING_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/pki/authority.h"
#include "common/pki/certificate.h"

namespace hpc::pki {

// The folder's name in the coordinator's state directory.
inline constexpr absl::string_view kKeyringFolder = "keys";

// How long the coordinator's own certificate is valid. It is made anew at every start.
inline constexpr absl::Duration kCoordinatorLifetime = absl::Hours(24 * 365);

struct KeyringPlace {
  std::string folder;         // holds the files above
  std::string authority_key;  // path of the private key; "" means authority.key in `folder`
  std::string passphrase;     // encrypts the private key; "" means that it is not encrypted
};

// Reads a passphrase from a file, without the line end. InvalidArgument: the file is empty. Other
// errors are those of the file system.
absl::StatusOr<std::string> ReadPassphrase(const std::string& path);

class Keyring {
 public:
  // Makes a new cluster with an authority of its own, or finishes what an earlier call that was cut
  // short has begun in the folder. AlreadyExists: there is an authority, which is left as it is.
  // Other errors are those of the file system.
  static absl::StatusOr<Keyring> Create(const KeyringPlace& place, absl::Time now);

  // NotFound: no authority has been made here. InvalidArgument names the file that is damaged, or
  // says that the passphrase is wrong. FailedPrecondition: the key is missing, or it belongs to
  // another cluster or is an older one of this cluster.
  static absl::StatusOr<Keyring> Load(const KeyringPlace& place, absl::Time now);

  // PermissionDenied: users other than the owner may read the authority's key. The message names
  // the file and its mode.
  absl::Status CheckKeyIsSecret() const;

  const std::string& cluster() const { return cluster_; }

  // Signs a certificate for the role and name in this cluster.
  absl::StatusOr<Certificate> Sign(const SigningRequest& request, Role role,
                                   const std::string& name, absl::Time now,
                                   absl::Duration lifetime) const;

  // Returns the authorities that members' certificates may come from at `now`, the current one
  // first.
  std::vector<Certificate> Trusted(absl::Time now) const;
  // Returns the same as PEM, for members to keep.
  std::string TrustedPem(absl::Time now) const;
  // Returns when Trusted changes by itself; InfiniteFuture: never.
  absl::Time TrustedUntil(absl::Time now) const;
  // Returns the hash of the authority's public key, which goes into tokens.
  std::string AuthorityHash() const;

  // Writes a new coordinator.key and coordinator.pem. The latter is a chain: the coordinator's own
  // certificate, the bridges, and all trusted authorities. The certificate is valid for `lifetime`.
  // This must be called at each start, and again before the certificate expires.
  absl::Status IssueCoordinator(absl::Time now, absl::Duration lifetime) const;
  std::string coordinator_key_path() const;
  std::string coordinator_chain_path() const;

  // Makes a new authority. The old one stays trusted until `old_until`. All is on disk when it
  // returns OK.
  absl::Status Rotate(absl::Time now, absl::Time old_until);

 private:
  struct Former {
    Certificate certificate;
    absl::Time until;
  };
  Keyring(KeyringPlace place, std::string cluster, Authority authority)
      : place_(std::move(place)), cluster_(std::move(cluster)), authority_(std::move(authority)) {}

  // Loads the key, the certificate and the cluster's id.
  static absl::StatusOr<Keyring> LoadAuthority(const KeyringPlace& place);
  absl::Status LoadFormer(absl::Time now);
  absl::Status CheckIsOurs(const std::string& copy) const;
  absl::Status SaveAuthority() const;
  absl::Status SaveCopy() const;
  std::string Path(absl::string_view name) const;
  std::string AuthorityKeyPath() const;

  KeyringPlace place_;
  std::string cluster_;
  Authority authority_;
  std::vector<Former> former_;
  std::vector<Certificate> bridges_;
};

}  // namespace hpc::pki

#endif  // HPC_COMMON_PKI_KEYRING_H_
