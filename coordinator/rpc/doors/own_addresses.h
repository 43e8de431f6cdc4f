// The addresses at which others reach a socket that listens here.
#ifndef HPC_COORDINATOR_RPC_DOORS_OWN_ADDRESSES_H_
#define HPC_COORDINATOR_RPC_DOORS_OWN_ADDRESSES_H_

#include <vector>

#include "common/net/endpoint.h"

namespace hpc::coordinator {

// Returns `listen` itself. If it listens on every interface, returns this machine's addresses with
// its port instead: IPv4 before IPv6, without loopback and link-local ones, at most `limit`.
std::vector<Endpoint> OwnAddresses(const Endpoint& listen, size_t limit);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_DOORS_OWN_ADDRESSES_H_
