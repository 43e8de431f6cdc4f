// Who the simulated nodes are.
#ifndef HPC_BENCH_SIMULATOR_ENROL_H_
#define HPC_BENCH_SIMULATOR_ENROL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/net/endpoint.h"
#include "common/pki/membership.h"

namespace hpc::simulator {

// "pc1" for 0.
std::string NameOf(int node);
// An address of the loopback network that is the node's alone, as text: "127.1.0.1" for 0.
std::string AddressOf(int node);

// The memberships of so many nodes, each from the folder of its name in `state_dir`; who has none
// joins, by the token of its share: with three tokens the first third of the nodes use the first.
// `coordinators`: where, taken in turns; none: where the tokens say. Errors name the node.
// FailedPrecondition: one has not joined, and there is no token.
absl::StatusOr<std::vector<pki::Membership>> Enrol(int nodes, const std::string& state_dir,
                                                   const std::vector<std::string>& tokens,
                                                   const std::vector<Endpoint>& coordinators);

}  // namespace hpc::simulator

#endif  // HPC_BENCH_SIMULATOR_ENROL_H_
