#include "coordinator/core/state/node_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace hpc::coordinator {
namespace {

// A node that could not prepare or start a run is the last choice for this long: a disk that is
// full or hangs rarely recovers within a second.
constexpr absl::Duration kUnable = absl::Minutes(5);

}  // namespace

bool Node::CanWake() const {
  if (record.inventory.can_wake_by_hook) return true;
  const auto& interfaces = record.inventory.interfaces;
  return std::any_of(interfaces.begin(), interfaces.end(),
                     [](const protocol::NetworkInterface& i) { return !i.mac.empty(); });
}

void Node::MakeUnable(MonoTime now, const std::string& why) {
  unable_until = now + kUnable;
  unable_why = why;
}

bool Node::ReadyForWork() const {
  return connected() && record.power == Power::kOn && !record.reclaimed && !ShutOut();
}

bool Node::Wakeable() const {
  const bool off = record.power == Power::kOff || record.power == Power::kWaking;
  return off && CanWake() && wake_plan != WakePlan::kLeaveAlone && !record.reclaimed && !ShutOut();
}

bool Node::Awaited() const {
  return contact_ == NodeContact::kAwaited && record.power == Power::kOn && !ShutOut();
}

Window Node::LastHeard(Now now) const {
  if (!seen()) {
    // The coordinator before this one heard the node. It wrote down from time to time when that
    // was.
    const absl::Duration ago = std::max(now.wall - record.last_seen, absl::ZeroDuration());
    const MonoTime began = lease.heard();  // it has said nothing since then
    return {std::min(now.mono - ago, began), began};
  }
  // The lease does not tell it: if the coordinator itself stood still, it renews a lease without
  // having heard the node.
  return clock.told() ? clock.Before(absl::ZeroDuration(), now.mono)
                      : Window::Exactly(lease.heard());
}

// The node fell silent before its next heartbeat would have been heard. Whatever its last heartbeat
// did not tell happened after the one before that: a worker that continues after a standstill may
// send one heartbeat before it reads what has happened meanwhile, but not two.
Window Node::Silence(Now now) const {
  const Window heard = LastHeard(now);
  const std::optional<absl::Duration>& beat = clock.BeatBeforeLast();
  return {beat ? clock.At(*beat, now.mono).earliest : heard.earliest - heartbeat_interval,
          std::min(now.mono, heard.latest + heartbeat_interval)};
}

bool Node::HeardSince(MonoTime then, Now now) const {
  return seen() && LastHeard(now).earliest >= then;
}

void Node::WentAway(MonoTime now) {
  const bool rested = now - back_since >= absl::Hours(1);
  departures = rested ? 1 : departures + 1;
}

std::vector<int32_t> Node::FreeDevices() const {
  std::vector<int32_t> free;
  for (const protocol::Device& device : record.inventory.devices) {
    const bool held = std::any_of(holdings.begin(), holdings.end(), [&](const Holding& h) {
      return std::find(h.devices.begin(), h.devices.end(), device.index) != h.devices.end();
    });
    if (!held) free.push_back(device.index);
  }
  return free;
}

Node* NodeTable::Add(const NodeRecord& record) {
  nodes_.push_back(std::make_unique<Node>(static_cast<int64_t>(nodes_.size()), *options_));
  Node* node = nodes_.back().get();
  node->record = record;
  by_name_[record.name] = node;
  return node;
}

void NodeTable::Remove(Node* node) {
  by_name_.erase(node->name());
  nodes_[static_cast<size_t>(node->number)].reset();
}

Node* NodeTable::Find(const std::string& name) {
  auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : it->second;
}

const Node* NodeTable::Find(const std::string& name) const {
  auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : it->second;
}

std::vector<std::string> NodeTable::Names() const {
  std::vector<std::string> names;
  names.reserve(by_name_.size());
  for (const auto& [name, node] : by_name_) names.push_back(name);
  return names;
}

absl::Status NodeTable::Unknown(const std::string& name) const {
  if (by_name_.empty()) {
    return absl::NotFoundError(absl::StrCat("no node ", name, ": no node has joined yet"));
  }
  const std::string nearest = Nearest(name, Names());
  if (!nearest.empty()) {
    return absl::NotFoundError(absl::StrCat("no node ", name, "; did you mean ", nearest, "?"));
  }
  constexpr size_t kNamed = 10;
  std::vector<std::string> names = Names();
  if (names.size() > kNamed) {
    return absl::NotFoundError(
        absl::StrCat("no node ", name, "; `hpcctl nodes` lists the ", names.size(), " there are"));
  }
  return absl::NotFoundError(absl::StrCat("no node ", name, "; there are ", JoinWords(names)));
}

}  // namespace hpc::coordinator
