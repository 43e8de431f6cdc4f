// Where others reach a socket that listens here.
#ifndef HPC_COORDINATOR_RPC_DOORS_OWN_ADDRESSES_H_
#define HPC_COORDINATOR_RPC_DOORS_OWN_ADDRESSES_H_

#include <vector>

#include "common/net/endpoint.h"

namespace hpc::coordinator {

// `listen` itself; or, where it listens on every interface, this machine's addresses with its port:
// IPv4 before IPv6, no loopback and no link-local ones, at most `limit`.
std::vector<Endpoint> OwnAddresses(const Endpoint& listen, size_t limit);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_DOORS_OWN_ADDRESSES_H_
