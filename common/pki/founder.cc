#include "common/pki/founder.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/files/files.h"
#include "common/pki/authority.h"
#include "common/pki/private_key.h"
#include "common/pki/signing_request.h"
#include "common/status_macros.h"

namespace hpc::pki {
namespace {

std::string PathIn(const std::string& keyring_folder) { return keyring_folder + "/founder.pem"; }

}  // namespace

absl::StatusOr<Membership> MakeFounder(const Keyring& keyring, const std::string& keyring_folder,
                                       const std::string& name, absl::Time now) {
  HPC_ASSIGN_OR_RETURN(const PrivateKey key, PrivateKey::Generate());
  HPC_ASSIGN_OR_RETURN(const SigningRequest request, SigningRequest::Make(key));
  HPC_ASSIGN_OR_RETURN(const Certificate certificate,
                       keyring.Sign(request, Role::kAdmin, name, now, kMemberLifetime));
  HPC_ASSIGN_OR_RETURN(std::string key_pem, key.ToPem(""));
  HPC_RETURN_IF_ERROR(WriteFileAtomically(PathIn(keyring_folder), certificate.ToPem(), 0644));
  return Membership{.key_pem = std::move(key_pem),
                    .certificate_pem = certificate.ToPem(),
                    .authorities_pem = keyring.TrustedPem(now),
                    .addresses = {}};
}

absl::StatusOr<Certificate> LoadFounder(const std::string& keyring_folder) {
  const std::string path = PathIn(keyring_folder);
  HPC_ASSIGN_OR_RETURN(const std::string pem, ReadFile(path));
  absl::StatusOr<Certificate> certificate = Certificate::FromPem(pem);
  if (certificate.ok()) return certificate;
  return InFile(path, certificate.status());
}

}  // namespace hpc::pki
