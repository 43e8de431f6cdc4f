// The cluster on one screen: each PC with what it does, and the runs that are not over with what
// they wait for. Pure.
#ifndef HPC_CLIENT_CLI_SHOW_OVERVIEW_H_
#define HPC_CLIENT_CLI_SHOW_OVERVIEW_H_

#include <string>
#include <vector>

#include "client/cli/forms/listing.h"
#include "hpc/v1/node.pb.h"
#include "hpc/v1/run.pb.h"

namespace hpc::client {

// `runs` are all that are not over, in any order. Of many, those that are under way and the first
// of the queue are shown, and it is said how many are not.
std::string Overview(const std::vector<v1::Node>& nodes, std::vector<v1::Run> runs,
                     const ListingForm& form);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_SHOW_OVERVIEW_H_
