// Which coordinator a client speaks to, and what to say when it does not answer.
#ifndef HPC_CLIENT_DISCOVERY_H_
#define HPC_CLIENT_DISCOVERY_H_

#include <sys/types.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/coordinator_paths.h"
#include "common/endpoint.h"

namespace hpc::client {

// In this order: `named` (the command line's --coordinator), HPC_COORDINATOR, the first of
// CoordinatorSockets of `user` that somebody listens at. InvalidArgument: one of the first two is
// no address, and is named. Unavailable: neither is given and nobody listens; says where it looked,
// what was found there and what to do.
absl::StatusOr<Endpoint> FindCoordinator(const std::string& named, const Environment& environment,
                                         uid_t user);

// Unavailable, with the address that was tried, what was found there and what to do.
absl::Status UnreachableError(const Endpoint& endpoint);

}  // namespace hpc::client

#endif  // HPC_CLIENT_DISCOVERY_H_
