// Becoming a member and staying one: the calls that get a certificate.
#ifndef HPC_MEMBER_JOIN_H_
#define HPC_MEMBER_JOIN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/net/endpoint.h"
#include "common/pki/join_token.h"
#include "common/pki/membership.h"

namespace hpc::member {

struct Joined {
  pki::Holder holder;
  Endpoint coordinator;
  std::vector<std::string> passed_over;  // as in FoundCoordinator
};

// Makes a key, has the coordinator sign it for `name`, and saves the membership in `folder`, with
// the address that answered first. It takes the place of a membership that may be replaced
// (`replace`: of any). The secret is sent to nobody but the coordinator that made the token. Errors
// are those of CheckMayReplace, FindCoordinator, CheckClock and Trust.Join, in words that say what
// to do. AlreadyMember's error is returned where the coordinator has this member already. After an
// error nothing has been changed here.
absl::StatusOr<Joined> Join(const pki::JoinToken& token, const std::string& name,
                            const std::string& folder, bool replace, absl::Time now);

// Returns `membership` with a fresh key and certificate. The request is made in the membership's
// own name, and nothing is saved. Errors: those of Trust.Renew; Unavailable, Unauthenticated:
// nobody, or somebody else, is at `coordinator`; DeadlineExceeded after `timeout`.
absl::StatusOr<pki::Membership> Renew(const pki::Membership& membership,
                                      const Endpoint& coordinator, absl::Duration timeout);

}  // namespace hpc::member

#endif  // HPC_MEMBER_JOIN_H_
