// Commands that ask a node for a state are content when the node is in it already.
#ifndef HPC_CLIENT_CLI_FOLLOW_NODE_STATE_H_
#define HPC_CLIENT_CLI_FOLLOW_NODE_STATE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/session.h"

namespace hpc::client {

// Decides after `refusal`. If `node` is in one of `states`, this is a success, and the refusal's
// words go to stderr. Otherwise it returns the refusal.
absl::StatusOr<int> AlreadySo(Session* session, Client* client, const std::string& node,
                              const std::vector<std::string>& states, const absl::Status& refusal);

// The state of the node as `hpcctl nodes` shows it; "" if there is none or it cannot be asked.
std::string NodeStateOf(Client* client, const std::string& node);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_FOLLOW_NODE_STATE_H_
