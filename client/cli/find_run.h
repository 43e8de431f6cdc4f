// A run as a person names it.
#ifndef HPC_CLIENT_CLI_FIND_RUN_H_
#define HPC_CLIENT_CLI_FIND_RUN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/api.h"

namespace hpc::client {

// Returns the number of a run: of the one with that number, which need not exist; of the caller's
// newest run if `typed` is "last"; or of the newest run that has this name. NotFound: there is
// none.
absl::StatusOr<int64_t> FindRun(Client* client, const std::string& typed);
// Does the same for each, in the same order.
absl::StatusOr<std::vector<int64_t>> FindRuns(Client* client,
                                              const std::vector<std::string>& typed);

// Asks for all runs that are not over, without their commands.
v1::ListRunsRequest LiveRunsRequest();
// Returns the numbers of all runs of the caller that are not over, the newest first.
absl::StatusOr<std::vector<int64_t>> LiveRunsOfCaller(Client* client);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_FIND_RUN_H_
