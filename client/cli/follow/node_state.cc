#include "client/cli/follow/node_state.h"

#include <algorithm>

#include "client/cli/exit_codes.h"
#include "common/status_macros.h"

namespace hpc::client {

absl::StatusOr<int> AlreadySo(Session* session, Client* client, const std::string& node,
                              const std::vector<std::string>& states, const absl::Status& refusal) {
  HPC_ASSIGN_OR_RETURN(const v1::ListNodesResponse nodes, client->ListNodes());
  for (const v1::Node& candidate : nodes.nodes()) {
    const bool so = std::find(states.begin(), states.end(), candidate.state()) != states.end();
    if (candidate.name() != node || !so) continue;
    session->Notice(absl::string_view(refusal.message()));
    return kExitOk;
  }
  return refusal;
}

std::string NodeStateOf(Client* client, const std::string& node) {
  const absl::StatusOr<v1::ListNodesResponse> nodes = client->ListNodes();
  if (!nodes.ok()) return "";
  for (const v1::Node& candidate : nodes->nodes()) {
    if (candidate.name() == node) return candidate.state();
  }
  return "";
}

}  // namespace hpc::client
