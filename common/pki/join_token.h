// The line that a person pastes on a PC or a laptop to make it a member. Pure.
#ifndef HPC_COMMON_PKI_JOIN_TOKEN_H_
#define HPC_COMMON_PKI_JOIN_TOKEN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/net/endpoint.h"
#include "common/pki/identity.h"

namespace hpc::pki {

inline constexpr size_t kTokenSecretBytes = 16;
inline constexpr size_t kPublicKeyHashBytes = 32;
inline constexpr size_t kMaxTokenAddresses = 8;

struct JoinToken {
  Role role = Role::kWorker;        // kWorker, kUser or kAdmin
  std::string secret;               // kTokenSecretBytes random bytes
  std::string authority_hash;       // Certificate::PublicKeyHash of the cluster's authority
  std::vector<Endpoint> addresses;  // the coordinator's, best first; TCP; 1 to 8
};

// Returns "hpc1-" and URL-safe Base64. A checksum over all of it tells a mistyped token from a
// refused one.
std::string FormatJoinToken(const JoinToken& token);

// Ignores surrounding white space. InvalidArgument says whether the text is not a token, is cut off
// or mistyped, or comes from a newer version.
absl::StatusOr<JoinToken> ParseJoinToken(absl::string_view text);

// Returns what the coordinator keeps in place of a secret: its SHA-256, 64 hexadecimal digits.
std::string SecretHash(absl::string_view secret);

// Returns the name of a token in listings: the first 12 digits of its SecretHash.
std::string TokenId(absl::string_view secret);

// Overwrites tokens among a program's arguments, which every process of the machine can read.
void HideTokens(int argc, char** argv);

}  // namespace hpc::pki

#endif  // HPC_COMMON_PKI_JOIN_TOKEN_H_
