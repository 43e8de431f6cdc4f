#include "coordinator/core/acts/removal.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace hpc::coordinator {

void Removal::ShutOut(Turn& turn, Node* node, const std::string& why) {
  node->record.revoked = why;
  power_->ShutOut(turn, node);
  turn.Save(node->record);
  turn.Event(event::kNodeRevoked, About(node->name()),
             absl::StrCat("is shut out: its certificate was ", why), Severity::kWarning);
  state_->capacity_changed = true;
}

absl::Status Removal::CheckUnused(const Node& node) const {
  const std::string& name = node.name();
  if (node.connected()) {
    return absl::FailedPreconditionError(absl::StrCat(
        name,
        " is connected: stop its worker there first (systemctl disable --now hpc-worker), or ",
        "shut it out (hpcctl cert revoke worker/", name, ")"));
  }
  for (const RunId id : state_->runs.Ids()) {
    const Run* run = state_->runs.Find(id);
    if (run->attempt == nullptr || run->attempt->FindMember(name) == nullptr) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(name, " cannot be forgotten yet: attempt ", run->attempt->ref().ToString(),
                     " has ranks there, or may have. `hpcctl why ", id,
                     "` says what it waits for, and `hpcctl cancel ", id, "` ends it"));
  }
  return absl::OkStatus();
}

absl::Status Removal::Forget(Turn& turn, Node* node, const std::string& who) {
  HPC_RETURN_IF_ERROR(CheckUnused(*node));
  NodeRecord gone = node->record;
  gone.forgotten = true;
  turn.Save(gone);
  turn.Event(event::kNodeForgotten, About(node->name()), DoneBy("forgotten", who));
  state_->timers.StopAllOfNode(node->number);
  auto& returned = state_->devices_returned;
  returned.erase(std::remove(returned.begin(), returned.end(), node), returned.end());
  state_->nodes.Remove(node);
  state_->capacity_changed = true;
  return absl::OkStatus();
}

}  // namespace hpc::coordinator
