// Which of a token's addresses leads to the coordinator that was meant.
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
  // What was found at the addresses that were passed over, a line each.
  std::vector<std::string> passed_over;
};

// The certificates that a server shows, its own first; else why there are none.
using Fetch =
    absl::FunctionRef<absl::StatusOr<std::vector<pki::Certificate>>(const Endpoint& address)>;

// Tries the addresses in order. Unauthenticated: somebody else answers at one of them and the right
// one at none. Unavailable: none answers. Either lists every address with what was found there.
absl::StatusOr<FoundCoordinator> FindCoordinator(const pki::JoinToken& token, Fetch fetch);

// Why no TLS connection to `address` comes about for who trusts `authorities` (PEM), in words
// without the address. OK: nothing of TLS is in the way. Unauthenticated: another coordinator, or
// one whose certificate is not valid at `now`.
absl::Status WhyNoTls(const Endpoint& address, const std::string& authorities, absl::Time now,
                      Fetch fetch);

}  // namespace hpc::member

#endif  // HPC_MEMBER_FIND_COORDINATOR_H_
