#include "coordinator/rpc/doors/member_book.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace hpc::coordinator {

int ConnectionsPerMember(const DescriptorPlan& plan) {
  return std::clamp(plan.tcp_end / 8, 1, 512);
}

absl::Status MemberBook::Enter(const std::string& member, const OpenSocket& connection) {
  std::vector<OpenSocket>& open = open_[member];
  if (open.size() >= per_member_) {
    open.erase(std::remove_if(open.begin(), open.end(),
                              [](const OpenSocket& socket) { return !socket.IsOpen(); }),
               open.end());
  }
  if (open.size() >= per_member_) {
    return absl::ResourceExhaustedError(
        absl::StrCat(member, " has ", open.size(),
                     " connections open, as many as a member may have; end some of them"));
  }
  open.push_back(connection);
  return absl::OkStatus();
}

}  // namespace hpc::coordinator
