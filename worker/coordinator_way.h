// Which coordinator the worker connects to, and with which identity.
#ifndef HPC_WORKER_COORDINATOR_WAY_H_
#define HPC_WORKER_COORDINATOR_WAY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/net/endpoint.h"
#include "common/pki/membership.h"
#include "member/http2/security.h"
#include "worker/command_line.h"

namespace hpc::worker {

// A folder in the worker's state directory.
inline constexpr char kIdentityFolder[] = "identity";

struct Way {
  std::string node;
  std::vector<Endpoint> addresses;
  member::Security security;
};

// A Unix socket needs no membership, and neither does plain text on this machine (--insecure).
// Everything else does. `membership` is the result of LoadMembership. FailedPrecondition: there is
// none, or it is for another node than the one that was named; the error says what to do.
// InvalidArgument: the node's name is malformed.
absl::StatusOr<Way> ChooseWay(const CommandLine& command,
                              const absl::StatusOr<pki::Membership>& membership);

// The name of this machine, without its domain.
std::string HostName();

}  // namespace hpc::worker

#endif  // HPC_WORKER_COORDINATOR_WAY_H_
