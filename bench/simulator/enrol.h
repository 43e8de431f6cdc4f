// The identities of the simulated nodes.
#ifndef HPC_BENCH_SIMULATOR_ENROL_H_
#define HPC_BENCH_SIMULATOR_ENROL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/net/endpoint.h"
#include "common/pki/membership.h"

namespace hpc::simulator {

// Returns the node's name: "pc1" for 0.
std::string NameOf(int node);
// Returns an address of the loopback network that only this node has, as text: "127.1.0.1" for 0.
std::string AddressOf(int node);

// Returns the memberships of `nodes` nodes, each from the folder of its name in `state_dir`. A node
// without one joins with the token of its share: with three tokens the first third of the nodes use
// the first. The nodes join at `coordinators`, taken in turns, or, if that is empty, at the
// addresses in the tokens. Errors name the node. FailedPrecondition: a node has not joined, and
// there is no token.
absl::StatusOr<std::vector<pki::Membership>> Enrol(int nodes, const std::string& state_dir,
                                                   const std::vector<std::string>& tokens,
                                                   const std::vector<Endpoint>& coordinators);

}  // namespace hpc::simulator

#endif  // HPC_BENCH_SIMULATOR_ENROL_H_
