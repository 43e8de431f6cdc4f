#include "common/pki/join_token.h"

#include <openssl/sha.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"

namespace hpc::pki {
namespace {

constexpr absl::string_view kPrefix = "hpc1-";
constexpr size_t kSumBytes = 4;
// A token holds the role, the secret and the hash, then the addresses as text, then the checksum.
constexpr size_t kFixedBytes = 1 + kTokenSecretBytes + kPublicKeyHashBytes;

std::string Sha256(absl::string_view bytes) {
  std::string hash(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
         reinterpret_cast<unsigned char*>(hash.data()));
  return hash;
}

std::string Sum(absl::string_view bytes) { return Sha256(bytes).substr(0, kSumBytes); }

absl::Status NoToken(absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("this is not a whole token: ", why,
                   "; paste the line that `hpcctl token create` printed, all of it"));
}

absl::StatusOr<Role> RoleOf(char c) {
  switch (c) {
    case 'w':
      return Role::kWorker;
    case 'u':
      return Role::kUser;
    case 'a':
      return Role::kAdmin;
    default:
      return NoToken("it is for a role that this version does not know");
  }
}

}  // namespace

std::string FormatJoinToken(const JoinToken& token) {
  std::string bytes(1, RoleName(token.role)[0]);
  absl::StrAppend(&bytes, token.secret, token.authority_hash);
  for (size_t i = 0; i < token.addresses.size(); ++i) {
    absl::StrAppend(&bytes, i == 0 ? "" : ",", token.addresses[i].ToString());
  }
  bytes += Sum(bytes);
  return absl::StrCat(kPrefix, absl::WebSafeBase64Escape(bytes));
}

absl::StatusOr<JoinToken> ParseJoinToken(absl::string_view text) {
  absl::string_view encoded = absl::StripAsciiWhitespace(text);
  if (encoded.empty()) return NoToken("it is empty");
  if (!absl::ConsumePrefix(&encoded, kPrefix)) {
    if (absl::StartsWith(encoded, "hpc")) return NoToken("it is of another version of hpcctl");
    return NoToken("tokens begin with hpc1-");
  }
  std::string bytes;
  if (!absl::WebSafeBase64Unescape(encoded, &bytes)) {
    return NoToken("it has a character that no token has, or its end is missing");
  }
  if (bytes.size() < kFixedBytes + kSumBytes) return NoToken("its end is missing");
  const std::string sum = bytes.substr(bytes.size() - kSumBytes);
  bytes.resize(bytes.size() - kSumBytes);
  if (Sum(bytes) != sum) return NoToken("it is mistyped, or its end is missing");
  JoinToken token;
  HPC_ASSIGN_OR_RETURN(token.role, RoleOf(bytes[0]));
  token.secret = bytes.substr(1, kTokenSecretBytes);
  token.authority_hash = bytes.substr(1 + kTokenSecretBytes, kPublicKeyHashBytes);
  for (absl::string_view address : absl::StrSplit(bytes.substr(kFixedBytes), ',')) {
    HPC_ASSIGN_OR_RETURN(Endpoint endpoint, ParseEndpoint(address));
    if (endpoint.is_unix || token.addresses.size() == kMaxTokenAddresses) {
      return NoToken("its addresses make no sense");
    }
    token.addresses.push_back(std::move(endpoint));
  }
  return token;
}

std::string SecretHash(absl::string_view secret) { return absl::BytesToHexString(Sha256(secret)); }

std::string TokenId(absl::string_view secret) { return SecretHash(secret).substr(0, 12); }

void HideTokens(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const size_t size = std::strlen(argv[i]);
    if (absl::StartsWith(argv[i], kPrefix)) std::fill_n(argv[i], size, '*');
  }
}

}  // namespace hpc::pki
