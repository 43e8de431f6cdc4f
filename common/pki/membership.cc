#include "common/pki/membership.h"

#include <errno.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/files/files.h"
#include "common/pki/pem.h"
#include "common/pki/private_key.h"
#include "common/status_macros.h"

namespace hpc::pki {
namespace {

constexpr char kIdentityFile[] = "identity.pem";
constexpr char kAuthoritiesFile[] = "authorities.pem";
constexpr char kAddressesFile[] = "addresses";
constexpr size_t kMaxFile = 1 << 20;

std::string PathOf(const std::string& folder, const char* name) {
  return absl::StrCat(folder, "/", name);
}

absl::StatusOr<std::vector<Endpoint>> LoadAddresses(const std::string& path) {
  HPC_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxFile));
  std::vector<Endpoint> addresses;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    absl::StatusOr<Endpoint> endpoint = ParseEndpoint(line);
    if (!endpoint.ok()) return InFile(path, endpoint.status());
    addresses.push_back(std::move(*endpoint));
  }
  return addresses;
}

// Returns the cluster that the first certificate of a PEM text names, or "" if it names none.
std::string ClusterOf(const std::string& pem) {
  const absl::StatusOr<Holder> holder = HolderOf({.certificate_pem = pem});
  return holder.ok() ? holder->identity.cluster : "";
}

// An identity beside the authorities and addresses of another cluster would be a membership of
// neither, so it is removed first. Beside those of its own cluster it stays: they fit both it and
// the identity that replaces it.
absl::Status RemoveIdentityOfAnother(const std::string& folder, const Membership& membership) {
  const std::string path = PathOf(folder, kIdentityFile);
  const absl::StatusOr<std::string> found = ReadFile(path, kMaxFile);
  if (absl::IsNotFound(found.status())) return absl::OkStatus();
  HPC_RETURN_IF_ERROR(found.status());
  const std::string cluster = ClusterOf(*found);
  if (!cluster.empty() && cluster == ClusterOf(membership.certificate_pem)) {
    return absl::OkStatus();
  }
  if (unlink(path.c_str()) != 0) return ErrnoStatus(errno, absl::StrCat("remove ", path));
  return Sync(folder);
}

}  // namespace

absl::StatusOr<Membership> ReadMembership(const std::string& folder) {
  Membership membership;
  const std::string identity_path = PathOf(folder, kIdentityFile);
  HPC_ASSIGN_OR_RETURN(const std::string identity, ReadFile(identity_path, kMaxFile));
  const auto keys = PemBlocks(identity, kKeyLabel);
  const auto certificates = PemBlocks(identity, kCertificateLabel);
  if (keys.empty() || certificates.empty()) {
    return InFile(identity_path,
                  absl::InvalidArgumentError("not a private key and its certificate in PEM"));
  }
  membership.key_pem = std::string(keys[0]);
  membership.certificate_pem = std::string(certificates[0]);

  const std::string authorities_path = PathOf(folder, kAuthoritiesFile);
  HPC_ASSIGN_OR_RETURN(membership.authorities_pem, ReadFile(authorities_path, kMaxFile));
  if (PemBlocks(membership.authorities_pem, kCertificateLabel).empty()) {
    return InFile(authorities_path, absl::InvalidArgumentError("not certificates in PEM"));
  }
  HPC_ASSIGN_OR_RETURN(membership.addresses, LoadAddresses(PathOf(folder, kAddressesFile)));
  return membership;
}

absl::StatusOr<Membership> LoadMembership(const std::string& folder) {
  HPC_ASSIGN_OR_RETURN(Membership membership, ReadMembership(folder));
  const std::string identity_path = PathOf(folder, kIdentityFile);
  const auto key = PrivateKey::FromPem(membership.key_pem, "");
  if (!key.ok()) return InFile(identity_path, key.status());
  const auto certificate = Certificate::FromPem(membership.certificate_pem);
  if (!certificate.ok()) return InFile(identity_path, certificate.status());
  if (!certificate->IsOf(*key)) {
    return InFile(identity_path,
                  absl::InvalidArgumentError("the certificate is for another private key"));
  }
  const auto authorities = CertificatesFromPem(membership.authorities_pem);
  if (!authorities.ok()) return InFile(PathOf(folder, kAuthoritiesFile), authorities.status());
  return membership;
}

absl::Status SaveMembership(const std::string& folder, const Membership& membership) {
  HPC_RETURN_IF_ERROR(MakeDirsDurably(folder, 0700));
  HPC_RETURN_IF_ERROR(RemoveIdentityOfAnother(folder, membership));
  HPC_RETURN_IF_ERROR(
      WriteFileAtomically(PathOf(folder, kAuthoritiesFile), membership.authorities_pem, 0644));
  HPC_RETURN_IF_ERROR(SaveAddresses(folder, membership.addresses));
  return WriteFileAtomically(PathOf(folder, kIdentityFile),
                             absl::StrCat(membership.key_pem, membership.certificate_pem), 0600);
}

absl::Status SaveAddresses(const std::string& folder, const std::vector<Endpoint>& addresses) {
  std::string text;
  for (const Endpoint& address : addresses) absl::StrAppend(&text, address.ToString(), "\n");
  return WriteFileAtomically(PathOf(folder, kAddressesFile), text, 0644);
}

absl::StatusOr<Holder> HolderOf(const Membership& membership) {
  HPC_ASSIGN_OR_RETURN(const Certificate certificate,
                       Certificate::FromPem(membership.certificate_pem));
  HPC_ASSIGN_OR_RETURN(Identity identity, certificate.GetIdentity());
  return Holder{std::move(identity), certificate.not_before(), certificate.not_after()};
}

bool DueForRenewal(const Holder& holder, absl::Time now) {
  return holder.not_after - now < (holder.not_after - holder.not_before) / 3;
}

}  // namespace hpc::pki
