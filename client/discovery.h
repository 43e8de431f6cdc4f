// Finds the coordinator that a client speaks to, and says what to do when it does not answer.
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
#include "member/http2/security.h"

namespace hpc::client {

// The wishes of the caller.
struct Wishes {
  std::string coordinator;  // the command line's --coordinator; "": none is named
  bool insecure = false;
  uid_t user = 0;
};

// The addresses where the coordinator may be, and the membership that the client shows there.
struct Way {
  std::vector<Endpoint> endpoints;            // to be tried in this order
  std::optional<pki::Membership> membership;  // unset: the connection is without TLS

  member::Security security() const {
    return membership ? member::Security::Of(*membership) : member::Security::PlainText();
  }
};

// Returns the folder where hpcctl keeps its user's membership: hpc/identity in $XDG_CONFIG_HOME
// (else ~/.config).
std::string IdentityFolder(const Environment& environment);

// Looks for the coordinator in this order: the one that was asked for, or else the one that
// HPC_COORDINATOR names; the first of CoordinatorSockets that somebody listens at; the addresses of
// the membership. Over TCP the membership is needed, unless plain text was asked for (as by
// HPC_INSECURE=1), which goes to loopback addresses only. InvalidArgument: what was named is not an
// address, or cannot be called like this. Unavailable: nothing is named and nobody listens.
// FailedPrecondition: the membership cannot be read. All errors say what was found and what to do.
absl::StatusOr<Way> FindCoordinator(const Wishes& wishes, const Environment& environment);

// Looks into the membership's keys. FindCoordinator does not, since that takes milliseconds.
// FailedPrecondition: they cannot be used; the message says what to do.
absl::Status CheckMembership(const Environment& environment);

// An address where no coordinator answered, and what was found there, in words.
struct Tried {
  Endpoint endpoint;
  absl::Status found;
};

// Explains why `endpoint` did not answer a client that called with `security` and got `error`. It
// may look for as long as `left`; if no time is left, `error` is all that is known.
// Unauthenticated: it is somebody other than the coordinator. Otherwise Unavailable.
absl::Status WhyUnreachable(const Endpoint& endpoint, const member::Security& security,
                            const absl::Status& error, absl::Duration left);

// Says what was tried and found, and what to do. Unauthenticated if one of the addresses was, else
// Unavailable.
absl::Status UnreachableError(const std::vector<Tried>& tried);

}  // namespace hpc::client

#endif  // HPC_CLIENT_DISCOVERY_H_
