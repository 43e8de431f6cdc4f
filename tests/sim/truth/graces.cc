#include "tests/sim/truth/graces.h"

#include <algorithm>

namespace hpc::sim {

void Graces::Gives(AttemptRef ref, const std::string& node, absl::Duration grace) {
  const MonoTime until = context_->now() + std::max(grace, absl::ZeroDuration());
  const auto [it, first] = until_.emplace(std::pair(ref, node), until);
  if (!first) it->second = std::min(it->second, until);
}

void Graces::Killed(AttemptRef ref, const std::string& node, int32_t rank) const {
  const auto it = until_.find({ref, node});
  if (it != until_.end() && context_->now() >= it->second) return;
  context_->verdict.Broken(
      "grace-is-kept", "rank ", rank, " of ", ref.ToString(), " on ", node, " is killed ",
      it == until_.end()
          ? "though nobody told it to end"
          : absl::FormatDuration(it->second - context_->now()) + " before its grace is over");
}

}  // namespace hpc::sim
