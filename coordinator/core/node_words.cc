#include "coordinator/core/node_words.h"

#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace hpc::coordinator {

std::string NodeStateWord(const Node& node) {
  if (node.record.power != Power::kOn) return Name(node.record.power);
  if (node.lost) return "lost";
  if (!node.connected) return node.seen ? "reconnecting" : "unknown";
  if (node.record.reclaimed) return node.holdings.empty() ? "reclaimed" : "returning";
  return node.holdings.empty() ? "idle" : "busy";
}

std::string WhyNotUsable(const Node& node, absl::Time now) {
  if (node.record.reclaimed) {
    const absl::Time until = node.record.reclaimed_until;
    if (until == absl::InfiniteFuture()) return "is reclaimed by its owner";
    return absl::StrCat("is reclaimed by its owner for another ", HumanDuration(until - now));
  }
  switch (node.record.power) {
    case Power::kOn:
      break;
    case Power::kDraining:
    case Power::kFallingAsleep:
      return "is going to sleep";
    case Power::kOff:
    case Power::kWaking:
      if (node.Wakeable()) return "";
      return node.leave_alone ? "is off and did not wake lately" : "is off and cannot be woken";
  }
  if (node.lost) return "is lost";
  if (!node.connected) return node.seen ? "is reconnecting" : "has not connected yet";
  return "";
}

}  // namespace hpc::coordinator
