#include "coordinator/runtime/node_links.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace hpc::coordinator {

void NodeLinks::Add(const Session& session, NodeLink* link) {
  const Entry old = std::exchange(entries_[session.node], {session.incarnation, link});
  if (old.link != nullptr) {
    old.link->Close(absl::AbortedError(
        absl::StrCat("a newer connection of node ", session.node, " took the place of this one")));
  }
}

void NodeLinks::Remove(const Session& session) {
  const auto found = entries_.find(session.node);
  if (found != entries_.end() && found->second.incarnation == session.incarnation) {
    entries_.erase(found);
  }
}

NodeLink* NodeLinks::Find(const std::string& node) const {
  const auto found = entries_.find(node);
  return found == entries_.end() ? nullptr : found->second.link;
}

std::optional<Session> NodeLinks::SessionOf(const std::string& node) const {
  const auto found = entries_.find(node);
  if (found == entries_.end()) return std::nullopt;
  return Session{node, found->second.incarnation};
}

absl::Status NodeLinks::Check(const Session& session) const {
  const auto found = entries_.find(session.node);
  if (found != entries_.end() && found->second.incarnation == session.incarnation) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat("node ", session.node,
                                                    " is not connected as incarnation ",
                                                    session.incarnation, "; connect again"));
}

void NodeLinks::CloseAll(const absl::Status& reason) {
  for (const auto& [node, entry] : std::exchange(entries_, {})) entry.link->Close(reason);
}

}  // namespace hpc::coordinator
