// Finds the address of a token that leads to the coordinator that was meant.
#ifndef HPC_MEMBER_FIND_COORDINATOR_H_
#define HPC_MEMBER_FIND_COORDINATOR_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "common/net/endpoint.h"
#include "common/pki/certificate.h"
#include "common/pki/join_token.h"

namespace hpc::member {

struct FoundCoordinator {
  Endpoint address;
  pki::Certificate own;        // the coordinator's certificate
  pki::Certificate authority;  // the one that the token vouches for
  // Says what was found at the addresses that were passed over, one line for each.
  std::vector<std::string> passed_over;
};

// Returns the certificates that a server shows, its own first, or the reason why there are none.
using Fetch =
    absl::FunctionRef<absl::StatusOr<std::vector<pki::Certificate>>(const Endpoint& address)>;

// Tries the addresses in order. Unauthenticated: somebody else answers at one of them, and the
// right coordinator at none. Unavailable: none answers. Both errors list every address with what
// was found there.
absl::StatusOr<FoundCoordinator> FindCoordinator(const pki::JoinToken& token, Fetch fetch);

// Says in words, without the address, why a client that trusts `authorities` (PEM) gets no TLS
// connection to `address`. OK: TLS is not what stands in the way. Unauthenticated: it is another
// coordinator, or one whose certificate is not valid at `now`.
absl::Status WhyNoTls(const Endpoint& address, const std::string& authorities, absl::Time now,
                      Fetch fetch);

}  // namespace hpc::member

#endif  // HPC_MEMBER_FIND_COORDINATOR_H_
