// Commands that ask a node for a state are content when it is in it already.
#ifndef HPC_CLIENT_CLI_FOLLOW_NODE_STATE_H_
#define HPC_CLIENT_CLI_FOLLOW_NODE_STATE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/session.h"

namespace hpc::client {

// After `refusal`: success, if `node` is in one of `states`, with the refusal's words on stderr;
// else the refusal.
absl::StatusOr<int> AlreadySo(Session* session, Client* client, const std::string& node,
                              const std::vector<std::string>& states, const absl::Status& refusal);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_FOLLOW_NODE_STATE_H_
