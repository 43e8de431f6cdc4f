#include "common/pki/keyring.h"

#include <sys/stat.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/files/files.h"
#include "common/pki/private_key.h"
#include "common/pki/random.h"
#include "common/pki/signing_request.h"
#include "common/status_macros.h"

namespace hpc::pki {
namespace {

constexpr char kAuthorityKeyFile[] = "authority.key";
constexpr char kAuthorityFile[] = "authority.pem";
constexpr char kClusterFile[] = "cluster";
constexpr char kTrustedFile[] = "trusted.pem";
constexpr char kBridgesFile[] = "bridges.pem";
constexpr char kCoordinatorKeyFile[] = "coordinator.key";
constexpr char kCoordinatorFile[] = "coordinator.pem";
constexpr char kUntil[] = "until ";

bool IsClusterId(absl::string_view id) {
  return id.size() == 16 && id.find_first_not_of("0123456789abcdef") == absl::string_view::npos;
}

absl::StatusOr<std::string> NewClusterId() {
  HPC_ASSIGN_OR_RETURN(const std::string bytes, RandomBytes(8));
  return absl::BytesToHexString(bytes);
}

std::string KeyPath(const KeyringPlace& place) {
  if (!place.authority_key.empty()) return place.authority_key;
  return absl::StrCat(place.folder, "/", kAuthorityKeyFile);
}

std::string ToPem(const std::vector<Certificate>& certificates) {
  std::string pem;
  for (const Certificate& one : certificates) pem += one.ToPem();
  return pem;
}

absl::StatusOr<std::string> LoadClusterId(const KeyringPlace& place) {
  const std::string path = absl::StrCat(place.folder, "/", kClusterFile);
  const absl::StatusOr<std::string> id = ReadFile(path);
  if (id.ok() && IsClusterId(*id)) return id;
  return absl::FailedPreconditionError(absl::StrCat(
      id.ok() ? absl::StrCat(path, " is damaged") : id.status().message(),
      ". It holds the cluster's id, 16 hexadecimal digits and nothing else: write what stands "
      "behind hpc:// in ",
      place.folder, "/", kCoordinatorFile,
      " (openssl x509 -noout -ext subjectAltName -in that file), or restore a backup"));
}

}  // namespace

absl::StatusOr<std::string> ReadPassphrase(const std::string& path) {
  HPC_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, 4096));
  const absl::string_view passphrase = absl::StripTrailingAsciiWhitespace(text);
  if (!passphrase.empty()) return std::string(passphrase);
  return absl::InvalidArgumentError(absl::StrCat(
      "--passphrase-file ", path,
      " is empty: write the passphrase into it, or leave the option out for a key without one"));
}

std::string Keyring::Path(absl::string_view name) const {
  return absl::StrCat(place_.folder, "/", name);
}

std::string Keyring::AuthorityKeyPath() const { return KeyPath(place_); }

std::string Keyring::coordinator_key_path() const { return Path(kCoordinatorKeyFile); }
std::string Keyring::coordinator_chain_path() const { return Path(kCoordinatorFile); }

absl::StatusOr<Keyring> Keyring::Create(const KeyringPlace& place, absl::Time now) {
  const std::string copy_path = absl::StrCat(place.folder, "/", kAuthorityFile);
  for (const std::string& path : {copy_path, KeyPath(place)}) {
    struct stat info {};
    if (stat(path.c_str(), &info) != 0) continue;
    // A key without its copy was left by an earlier call that was cut short. Nobody was told of a
    // key that still lies in this folder, so this call goes on with it.
    if (path != copy_path && place.authority_key.empty()) {
      absl::StatusOr<Keyring> unfinished = LoadAuthority(place);
      if (unfinished.ok()) {
        HPC_RETURN_IF_ERROR(unfinished->SaveCopy());
        return unfinished;
      }
    }
    return absl::AlreadyExistsError(
        absl::StrCat("there is an authority already: ", path, "; nothing was changed"));
  }
  HPC_ASSIGN_OR_RETURN(std::string cluster, NewClusterId());
  HPC_ASSIGN_OR_RETURN(Authority authority, Authority::Create(cluster, now));
  Keyring keyring(place, std::move(cluster), std::move(authority));
  HPC_RETURN_IF_ERROR(MakeDirsDurably(place.folder, 0700));
  HPC_RETURN_IF_ERROR(WriteFileAtomically(keyring.Path(kClusterFile), keyring.cluster_));
  HPC_RETURN_IF_ERROR(keyring.SaveAuthority());
  return keyring;
}

// Key and certificate change together, in one file. The copy of the certificate shows that there is
// an authority even while its key is kept elsewhere.
absl::Status Keyring::SaveAuthority() const {
  HPC_ASSIGN_OR_RETURN(const std::string key, authority_.key().ToPem(place_.passphrase));
  const std::string certificate = authority_.certificate().ToPem();
  HPC_RETURN_IF_ERROR(WriteFileAtomically(AuthorityKeyPath(), key + certificate, 0600));
  return SaveCopy();
}

absl::Status Keyring::SaveCopy() const {
  return WriteFileAtomically(Path(kAuthorityFile), authority_.certificate().ToPem(), 0644);
}

absl::StatusOr<Keyring> Keyring::Load(const KeyringPlace& place, absl::Time now) {
  HPC_ASSIGN_OR_RETURN(const std::string copy,
                       ReadFile(absl::StrCat(place.folder, "/", kAuthorityFile)));
  HPC_ASSIGN_OR_RETURN(Keyring keyring, LoadAuthority(place));
  HPC_RETURN_IF_ERROR(keyring.LoadFormer(now));
  HPC_RETURN_IF_ERROR(keyring.CheckIsOurs(copy));
  return keyring;
}

absl::StatusOr<Keyring> Keyring::LoadAuthority(const KeyringPlace& place) {
  HPC_ASSIGN_OR_RETURN(std::string cluster, LoadClusterId(place));
  const std::string key_path = KeyPath(place);
  const absl::StatusOr<std::string> pem = ReadFile(key_path);
  // An authority whose key is missing exists but is unusable, which is not the same as having none.
  if (!pem.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(
        pem.status().message(), ". The authority of this cluster is of no use without its key: ",
        "put the key back from where --authority-key has it, or restore a backup into a new state ",
        "directory (hpc-coordinator restore FILE); docs/SECURITY.md, \"When something is lost\""));
  }
  const absl::StatusOr<PrivateKey> key = PrivateKey::FromPem(*pem, place.passphrase);
  if (!key.ok()) return InFile(key_path, key.status());
  const absl::StatusOr<Certificate> certificate = Certificate::FromPem(*pem);
  if (!certificate.ok()) return InFile(key_path, certificate.status());
  absl::StatusOr<Authority> authority = Authority::From(*certificate, *key);
  if (!authority.ok()) return InFile(key_path, authority.status());
  return Keyring(place, std::move(cluster), *std::move(authority));
}

// After a rotation that was interrupted, the copy is still the former authority's.
absl::Status Keyring::CheckIsOurs(const std::string& copy) const {
  const std::string copy_path = Path(kAuthorityFile);
  const absl::StatusOr<Certificate> expected = Certificate::FromPem(copy);
  if (!expected.ok()) return InFile(copy_path, expected.status());
  const std::string expected_pem = expected->ToPem();
  if (expected_pem == authority_.certificate().ToPem()) return absl::OkStatus();
  const absl::StatusOr<std::string> trusted = ReadFile(Path(kTrustedFile));
  if (trusted.ok() && absl::StrContains(*trusted, expected_pem)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      AuthorityKeyPath(),
      " is not the key of this cluster: it belongs to another certificate than ", copy_path,
      ". Put back the key that ", copy_path,
      " was made with, from a backup or where --authority-key has it; nothing was changed"));
}

absl::Status Keyring::CheckKeyIsSecret() const {
  struct stat info {};
  const std::string path = AuthorityKeyPath();
  if (stat(path.c_str(), &info) != 0 || (info.st_mode & 0077) == 0) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat(path, " has mode ", absl::StrFormat("%04o", info.st_mode & 07777)));
}

absl::Status Keyring::LoadFormer(absl::Time now) {
  const absl::StatusOr<std::string> trusted = ReadFile(Path(kTrustedFile));
  if (absl::IsNotFound(trusted.status())) return absl::OkStatus();
  HPC_RETURN_IF_ERROR(trusted.status());
  for (absl::string_view part : absl::StrSplit(*trusted, kUntil, absl::SkipEmpty())) {
    int64_t seconds = 0;
    absl::StatusOr<Certificate> certificate = Certificate::FromPem(part);
    if (!certificate.ok() || !absl::SimpleAtoi(part.substr(0, part.find('\n')), &seconds)) {
      return absl::InvalidArgumentError(
          absl::StrCat(Path(kTrustedFile), ": not \"until SECONDS\" and a certificate"));
    }
    const absl::Time until = absl::FromUnixSeconds(seconds);
    if (until > now) former_.push_back({*std::move(certificate), until});
  }
  if (former_.empty()) return absl::OkStatus();
  HPC_ASSIGN_OR_RETURN(const std::string pem, ReadFile(Path(kBridgesFile)));
  absl::StatusOr<std::vector<Certificate>> bridges = CertificatesFromPem(pem);
  if (!bridges.ok()) return InFile(Path(kBridgesFile), bridges.status());
  bridges_ = *std::move(bridges);
  return absl::OkStatus();
}

absl::StatusOr<Certificate> Keyring::Sign(const SigningRequest& request, Role role,
                                          const std::string& name, absl::Time now,
                                          absl::Duration lifetime) const {
  return authority_.Sign(request, {cluster_, role, name}, now, lifetime);
}

std::vector<Certificate> Keyring::Trusted(absl::Time now) const {
  std::vector<Certificate> all = {authority_.certificate()};
  for (const Former& former : former_) {
    if (former.until > now) all.push_back(former.certificate);
  }
  return all;
}

absl::Time Keyring::TrustedUntil(absl::Time now) const {
  absl::Time until = absl::InfiniteFuture();
  for (const Former& former : former_) {
    if (former.until > now) until = std::min(until, former.until);
  }
  return until;
}

std::string Keyring::TrustedPem(absl::Time now) const { return ToPem(Trusted(now)); }

std::string Keyring::AuthorityHash() const { return authority_.certificate().PublicKeyHash(); }

absl::Status Keyring::IssueCoordinator(absl::Time now, absl::Duration lifetime) const {
  HPC_ASSIGN_OR_RETURN(const PrivateKey key, PrivateKey::Generate());
  HPC_ASSIGN_OR_RETURN(const SigningRequest request, SigningRequest::Make(key));
  HPC_ASSIGN_OR_RETURN(const Certificate certificate,
                       Sign(request, Role::kCoordinator, "coordinator", now, lifetime));
  HPC_ASSIGN_OR_RETURN(const std::string key_pem, key.ToPem(""));
  HPC_RETURN_IF_ERROR(WriteFileAtomically(coordinator_key_path(), key_pem, 0600));
  return WriteFileAtomically(coordinator_chain_path(),
                             absl::StrCat(certificate.ToPem(), ToPem(bridges_), TrustedPem(now)),
                             0644);
}

absl::Status Keyring::Rotate(absl::Time now, absl::Time old_until) {
  HPC_ASSIGN_OR_RETURN(Authority next, Authority::Create(cluster_, now));
  std::vector<Former> former = {{authority_.certificate(), old_until}};
  std::copy_if(former_.begin(), former_.end(), std::back_inserter(former),
               [now](const Former& one) { return one.until > now; });
  HPC_ASSIGN_OR_RETURN(Certificate bridge, authority_.CrossSign(next, now));
  std::vector<Certificate> bridges = {std::move(bridge)};
  bridges.insert(bridges.end(), bridges_.begin(), bridges_.end());
  // One bridge is kept for each former authority.
  bridges.erase(bridges.begin() + static_cast<ptrdiff_t>(std::min(bridges.size(), former.size())),
                bridges.end());

  std::string trusted;
  for (const Former& one : former) {
    absl::StrAppend(&trusted, kUntil, absl::ToUnixSeconds(one.until), "\n",
                    one.certificate.ToPem());
  }
  Keyring rotated(place_, cluster_, std::move(next));
  rotated.former_ = std::move(former);
  rotated.bridges_ = std::move(bridges);
  // Because of this order, a crash in between leaves the old authority in force, at worst trusted
  // twice.
  HPC_RETURN_IF_ERROR(WriteFileAtomically(Path(kBridgesFile), ToPem(rotated.bridges_), 0644));
  HPC_RETURN_IF_ERROR(WriteFileAtomically(Path(kTrustedFile), trusted, 0644));
  HPC_RETURN_IF_ERROR(rotated.SaveAuthority());
  *this = std::move(rotated);
  return absl::OkStatus();
}

}  // namespace hpc::pki
