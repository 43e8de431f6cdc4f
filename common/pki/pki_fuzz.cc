// libFuzzer: feeds what anybody may paste as a token, or send as a certificate or a signing
// request.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/pki/certificate.h"
#include "common/pki/identity.h"
#include "common/pki/join_token.h"
#include "common/pki/signing_request.h"

namespace hpc::pki {
namespace {

void Check(bool holds) {
  if (!holds) abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto token = ParseJoinToken(text); token.ok()) {
    const auto again = ParseJoinToken(FormatJoinToken(*token));
    Check(again.ok() && again->secret == token->secret &&
          again->authority_hash == token->authority_hash &&
          again->addresses.size() == token->addresses.size());
  }
  if (const auto identity = ParseIdentityUri(text); identity.ok()) {
    Check(identity->ToUri() == std::string(text));
  }
  if (const auto certificates = CertificatesFromPem(text); certificates.ok()) {
    for (const Certificate& one : *certificates) {
      one.Serial();
      one.GetIdentity().IgnoreError();
      Check(one.PublicKeyHash().size() == kPublicKeyHashBytes);
    }
  }
  SigningRequest::FromPem(text).IgnoreError();
  return 0;
}

}  // namespace hpc::pki
