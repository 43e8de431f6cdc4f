// Which coordinator a client speaks to, and what to say when it does not answer.
#ifndef HPC_CLIENT_DISCOVERY_H_
#define HPC_CLIENT_DISCOVERY_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/endpoint.h"

namespace hpc::client {

// Reads one environment variable; nullptr when it is not set.
using Environment = std::function<const char*(const char* name)>;

// In this order: `named` (the command line's --coordinator), HPC_COORDINATOR,
// /run/hpc/coordinator.sock, $XDG_RUNTIME_DIR/hpc/coordinator.sock. The last two only if there is
// such a socket. InvalidArgument: one of the first two is no address, and is named. Unavailable:
// none is given and neither socket exists; says so and what to do.
absl::StatusOr<Endpoint> FindCoordinator(const std::string& named, const Environment& environment);

// Unavailable, with the address that was tried, what was found there and what to do.
absl::Status UnreachableError(const Endpoint& endpoint);

}  // namespace hpc::client

#endif  // HPC_CLIENT_DISCOVERY_H_
