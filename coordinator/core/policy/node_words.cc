#include "coordinator/core/policy/node_words.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace hpc::coordinator {

std::string NodeStateWord(const Node& node) {
  if (node.ShutOut()) return "revoked";
  if (node.record.power != Power::kOn) return Name(node.record.power);
  if (node.lost()) return "lost";
  if (!node.connected()) return node.seen() ? "reconnecting" : "unknown";
  if (node.record.reclaimed) return node.holdings.empty() ? "reclaimed" : "returning";
  return node.holdings.empty() ? "idle" : "busy";
}

std::string NodeReason(const Node& node, Now now) {
  const NodeRecord& record = node.record;
  if (node.ShutOut()) {
    const std::string left =
        node.holdings.empty()
            ? ""
            : absl::StrCat("ranks of attempt ", node.holdings.front().ref.ToString(),
                           " may be left there, and once they are not ");
    return absl::StrCat("its certificate was ", record.revoked, "; ", left, "`hpcctl node forget ",
                        node.name(), "` removes it");
  }
  if (record.power != Power::kOn) return record.reason;
  if (!node.seen()) return "has not connected since the coordinator was started";
  if (node.lost())
    return absl::StrCat("not heard for ", HumanDuration(now.mono - node.lease.heard()));
  if (!node.connected()) {
    const absl::Duration left = std::max(node.lease.deadline() - now.mono, absl::ZeroDuration());
    return absl::StrCat(node.lease.reset_grace() ? "its worker is gone" : "its connection broke",
                        "; lost unless it is back within ", HumanDuration(left));
  }
  if (!record.reclaimed && now.mono < node.unable_until) {
    return absl::StrCat(node.unable_why, "; work goes elsewhere for another ",
                        HumanDuration(node.unable_until - now.mono));
  }
  if (!record.reclaimed && !record.inventory.gpu_trouble.empty()) {
    return GpuTroubleWords(node.name(), record.inventory);
  }
  if (!record.reclaimed) return node.holdings.empty() ? record.reason : "";
  return absl::StrCat("its owner has taken it back", record.reclaim_reason.empty() ? "" : ": ",
                      record.reclaim_reason,
                      record.reclaimed_until == absl::InfiniteFuture()
                          ? ", until it is lent"
                          : ", for another " + HumanDuration(record.reclaimed_until - now.wall));
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
    case Power::kStopped:
      return "has its worker stopped";
    case Power::kOff:
    case Power::kWaking:
      if (node.Wakeable()) return "";
      return node.wake_plan == WakePlan::kLeaveAlone ? "is off and did not wake lately"
                                                     : "is off and cannot be woken";
  }
  if (node.lost()) return node.wake_packets > 0 ? "is lost, and was sent wake packets" : "is lost";
  if (!node.connected()) return node.seen() ? "is reconnecting" : "has not connected yet";
  if (!node.orphans.empty()) {
    return absl::StrCat("still ends attempt ", node.orphans.front().ToString(),
                        ", which was given up");
  }
  return "";
}

std::string GpuTroubleWords(const std::string& node, const protocol::Inventory& inventory) {
  return absl::StrCat(node, "'s GPUs cannot be used: ", inventory.gpu_trouble);
}

std::string KeptFromWords(const std::string& node, const protocol::Inventory& inventory) {
  return absl::StrCat(GpuTroubleWords(node, inventory), " (--nodelist ", node,
                      " runs on its CPU anyway)");
}

std::string WhyNotWoken(const Node& node) {
  if (node.record.inventory.can_wake_by_hook) return "";
  if (!node.CanWake()) {
    return absl::StrCat(
        node.name(),
        " cannot be woken by hpcctl: its worker knows of no network card with a MAC "
        "address, and of no wake hook");
  }
  std::vector<std::string> off;
  for (const protocol::NetworkInterface& one : node.record.inventory.interfaces) {
    if (one.mac.empty()) continue;
    if (one.wake_on_lan != protocol::WakeOnLan::kOff) return "";
    off.push_back(one.name);
  }
  return absl::StrCat("Wake-on-LAN is off on ", JoinWords(off), " of ", node.name(),
                      ", so that nothing will wake it: 'ethtool -s ", off.front(),
                      " wol g' there turns it on, where the card and the BIOS can");
}

}  // namespace hpc::coordinator
