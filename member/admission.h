// What is checked before and after a member-to-be asks the coordinator to let it in.
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

// Which program the token was pasted to.
enum class Door { kWorker, kClient };

// InvalidArgument: not a token, or one that another program takes, which is named.
absl::StatusOr<pki::JoinToken> ReadToken(absl::string_view text, Door door);

// Whether a membership that `folder` holds may give way to one of `name`. It may where it is of the
// same member of the same cluster, since the coordinator decides who may take that one's place, and
// where the user says so. FailedPrecondition: of what it is, and how to replace it.
// InvalidArgument, PermissionDenied: as LoadMembership, with what to do.
absl::Status CheckMayReplace(const std::string& folder, const pki::JoinToken& token,
                             const std::string& name, bool user_says_so);

// FailedPrecondition: `folder` holds a membership; says of what, and which token replaces it. OK:
// none that can be read.
absl::Status AlreadyMember(const std::string& folder);

// FailedPrecondition: by this machine's clock the coordinator's certificate is not valid, which
// that clock is to blame for; says how wrong it is at least.
absl::Status CheckClock(const pki::Certificate& coordinator, absl::Time now);

// What a coordinator answered to a request for a certificate.
struct Answer {
  std::string certificate, authorities;  // PEM
};

// A membership without addresses. DataLoss: the certificate is not for `key` and `wanted`, or none
// of the authorities signed it.
absl::StatusOr<pki::Membership> Accept(const pki::PrivateKey& key, const pki::Identity& wanted,
                                       const Answer& answer);

// FailedPrecondition: the certificate would not work here at `now`, since this machine's clock
// differs too much from the coordinator's; says by how much.
absl::Status CheckUsable(const pki::Membership& membership, absl::Time now,
                         absl::Time by_coordinator);

// What to remember of the coordinator's addresses: the one that answered, then the others that are
// known, at most 8.
std::vector<Endpoint> AnsweredFirst(const Endpoint& answered, const std::vector<Endpoint>& known);

// Whether the authorities of all certificates that a coordinator showed (PEM) are known. If not, it
// has a new one, and the member's certificate is to be renewed.
bool KnowsAll(const pki::Membership& membership, absl::string_view shown);

}  // namespace hpc::member

#endif  // HPC_MEMBER_ADMISSION_H_
