// Which coordinator a client speaks to, and what to say when it does not answer.
#ifndef HPC_CLIENT_DISCOVERY_H_
#define HPC_CLIENT_DISCOVERY_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files/coordinator_paths.h"
#include "common/net/endpoint.h"
#include "common/pki/membership.h"
#include "member/wire/security.h"

namespace hpc::client {

// What the caller asked for.
struct Wishes {
  std::string coordinator;  // of the command line's --coordinator; "": none is named
  bool insecure = false;
  uid_t user = 0;
};

// Where the coordinator may be, and as whom it is called.
struct Way {
  std::vector<Endpoint> endpoints;            // to be tried in this order
  std::optional<pki::Membership> membership;  // unset: without TLS

  member::Security security() const {
    return membership ? member::Security::Of(*membership) : member::Security::PlainText();
  }
};

// Where hpcctl keeps its user's membership: hpc/identity in $XDG_CONFIG_HOME (else ~/.config).
std::string IdentityFolder(const Environment& environment);

// In this order: the coordinator that was asked for, or else is named by HPC_COORDINATOR; the first
// of CoordinatorSockets that somebody listens at; the addresses of the membership. Over TCP the
// membership is needed, unless plain text was asked for (as by HPC_INSECURE=1), which goes to
// loopback addresses only. InvalidArgument: what was named is no address, or cannot be called like
// this. Unavailable: nothing is named and nobody listens. FailedPrecondition: the membership cannot
// be read. All say what was found and what to do.
absl::StatusOr<Way> FindCoordinator(const Wishes& wishes, const Environment& environment);

// Looks into the membership's keys, which FindCoordinator does not, as that takes milliseconds.
// FailedPrecondition: they cannot be used, and what to do.
absl::Status CheckMembership(const Environment& environment);

// An address where no coordinator answered, and what was found there, in words.
struct Tried {
  Endpoint endpoint;
  absl::Status found;
};

// What is to be found at `endpoint` by who has called with `security` and had this `error`, and may
// take so much longer over it; where none of that time is left, the error is all that was found.
// Unauthenticated: somebody who is not the coordinator; else Unavailable.
absl::Status WhyUnreachable(const Endpoint& endpoint, const member::Security& security,
                            const absl::Status& error, absl::Duration left);

// What was tried and found, and what to do; Unauthenticated where that was found, else Unavailable.
absl::Status UnreachableError(const std::vector<Tried>& tried);

}  // namespace hpc::client

#endif  // HPC_CLIENT_DISCOVERY_H_
