// The checks before and after a PC or person asks the coordinator to be let in.
#ifndef HPC_MEMBER_ADMISSION_H_
#define HPC_MEMBER_ADMISSION_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/net/endpoint.h"
#include "common/pki/certificate.h"
#include "common/pki/identity.h"
#include "common/pki/join_token.h"
#include "common/pki/membership.h"
#include "common/pki/private_key.h"

namespace hpc::member {

// The program that the token was pasted to.
enum class Door { kWorker, kClient };

// InvalidArgument: the text is not a token, or it is for another program, which is named.
absl::StatusOr<pki::JoinToken> ReadToken(absl::string_view text, Door door);

// Checks whether a membership that `folder` holds may be replaced by one for `name`. It may if the
// user says so, or if it belongs to the same member of the same cluster, because the coordinator
// decides who may take that member's place. FailedPrecondition says what the membership is for and
// how to replace it. InvalidArgument and PermissionDenied are those of LoadMembership, with what to
// do.
absl::Status CheckMayReplace(const std::string& folder, const pki::JoinToken& token,
                             const std::string& name, bool user_says_so);

// FailedPrecondition: `folder` holds a membership; the message says for whom, and which token
// replaces it. OK: the folder holds none that can be read.
absl::Status AlreadyMember(const std::string& folder);

// FailedPrecondition: the coordinator's certificate is not valid by this machine's clock. The clock
// is to blame, and the message says how wrong it is at least.
absl::Status CheckClock(const pki::Certificate& coordinator, absl::Time now);

// The coordinator's answer to a request for a certificate.
struct Answer {
  std::string certificate, authorities;  // PEM
};

// Makes a membership without addresses from the answer. DataLoss: the certificate is not for `key`
// and `wanted`, or none of the authorities signed it.
absl::StatusOr<pki::Membership> Accept(const pki::PrivateKey& key, const pki::Identity& wanted,
                                       const Answer& answer);

// FailedPrecondition: the certificate would not work here at `now`, since this machine's clock
// differs too much from the coordinator's. The message says by how much.
absl::Status CheckUsable(const pki::Membership& membership, absl::Time now,
                         absl::Time by_coordinator);

// Returns the addresses of the coordinator to remember: the one that answered, then the others that
// are known, at most 8.
std::vector<Endpoint> AnsweredFirst(const Endpoint& answered, const std::vector<Endpoint>& known);

// Returns whether the authorities of all certificates that a coordinator showed (PEM) are known. If
// not, the cluster has a new authority, and the member's certificate should be renewed.
bool KnowsAll(const pki::Membership& membership, absl::string_view shown);

}  // namespace hpc::member

#endif  // HPC_MEMBER_ADMISSION_H_
