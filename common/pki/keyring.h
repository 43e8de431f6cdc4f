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

// In the coordinator's state directory.
inline constexpr absl::string_view kKeyringFolder = "keys";

// Of the coordinator's own certificate, which is made anew at every start.
inline constexpr absl::Duration kCoordinatorLifetime = absl::Hours(24 * 365);

struct KeyringPlace {
  std::string folder;         // of the files above
  std::string authority_key;  // path of the private key; "": authority.key in `folder`
  std::string passphrase;     // of the private key; "": it is not encrypted
};

// The passphrase in a file, without the line's end. InvalidArgument: the file is empty. Else what
// the file system said.
absl::StatusOr<std::string> ReadPassphrase(const std::string& path);

class Keyring {
 public:
  // Makes a new cluster with an authority of its own, or finishes what an earlier call that was cut
  // short has begun in the folder. AlreadyExists: there is one, which is left as it is. Else what
  // the file system said.
  static absl::StatusOr<Keyring> Create(const KeyringPlace& place, absl::Time now);

  // NotFound: no authority has been made here. InvalidArgument names the file that is damaged, or
  // says that the passphrase is wrong. FailedPrecondition: the key is away, or it is another
  // cluster's or an older one of this.
  static absl::StatusOr<Keyring> Load(const KeyringPlace& place, absl::Time now);

  // PermissionDenied names the authority's key and its mode: others than its owner may read it.
  absl::Status CheckKeyIsSecret() const;

  const std::string& cluster() const { return cluster_; }

  // A certificate for `identity`'s role and name in this cluster.
  absl::StatusOr<Certificate> Sign(const SigningRequest& request, Role role,
                                   const std::string& name, absl::Time now,
                                   absl::Duration lifetime) const;

  // Whom members' certificates may come from at `now`: the authority first.
  std::vector<Certificate> Trusted(absl::Time now) const;
  // The same as PEM, for members to keep.
  std::string TrustedPem(absl::Time now) const;
  // When Trusted changes by itself; InfiniteFuture: never.
  absl::Time TrustedUntil(absl::Time now) const;
  // For tokens.
  std::string AuthorityHash() const;

  // Writes a new coordinator.key and coordinator.pem (the chain: its own certificate, bridges, all
  // trusted authorities), which last `lifetime`. To be called at each start, and again in time.
  absl::Status IssueCoordinator(absl::Time now, absl::Duration lifetime) const;
  std::string coordinator_key_path() const;
  std::string coordinator_chain_path() const;

  // A new authority; the old one stays trusted until `old_until`. On disk when it returns OK.
  absl::Status Rotate(absl::Time now, absl::Time old_until);

 private:
  struct Former {
    Certificate certificate;
    absl::Time until;
  };
  Keyring(KeyringPlace place, std::string cluster, Authority authority)
      : place_(std::move(place)), cluster_(std::move(cluster)), authority_(std::move(authority)) {}

  // Key, certificate and cluster.
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
