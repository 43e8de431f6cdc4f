#include "coordinator/core/policy/node_choice.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace hpc::coordinator {
namespace {

int32_t Size(const std::vector<int32_t>& v) { return static_cast<int32_t>(v.size()); }

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool Allowed(const RunRequest& request, const std::string& name) {
  if (!request.node_list.empty() && !Contains(request.node_list, name)) return false;
  return request.exclude.empty() || !Contains(request.exclude, name);
}

bool WantsAllGpus(const RunRequest& request) { return !request.gpus_per_node.has_value(); }

// The node's position in the previous attempt; a large number if it was not in it.
size_t LastRank(const NodeWishes& wishes, const std::string& name) {
  if (wishes.last_nodes != nullptr) {
    const auto& last = *wishes.last_nodes;
    const auto it = std::find(last.begin(), last.end(), name);
    if (it != last.end()) return static_cast<size_t>(it - last.begin());
  }
  return std::numeric_limits<size_t>::max();
}

// How many devices a request for "every GPU" gets on this node.
int32_t AllDevices(const NodeSpace& space) { return space.gpus > 0 ? space.gpus : 1; }

// Reduces `fitting` to the nodes from which a gang of `count` may be chosen so that every node
// gives the same number of devices, and as many as possible. Sets `common` to that number.
void KeepLargest(const std::vector<NodeSpace>& nodes, size_t count, std::vector<size_t>* fitting,
                 int32_t* common) {
  std::vector<int32_t> devices;
  for (size_t i : *fitting) devices.push_back(AllDevices(nodes[i]));
  std::sort(devices.rbegin(), devices.rend());
  *common = devices[count - 1];
  fitting->erase(std::remove_if(fitting->begin(), fitting->end(),
                                [&](size_t i) { return AllDevices(nodes[i]) < *common; }),
                 fitting->end());
}

void SortByPreference(const RunRequest& request, const std::vector<NodeSpace>& nodes,
                      const NodeWishes& wishes, std::vector<size_t>* fitting) {
  const auto key = [&](size_t i) {
    const NodeSpace& n = nodes[i];
    const bool new_to_it = LastRank(wishes, n.name) == std::numeric_limits<size_t>::max();
    const int32_t free = Size(n.free_gpus) + Size(n.free_slots);
    const int32_t used = n.gpus + n.slots - free;
    const bool gpus_unused = request.gpus_per_node == 0 && n.gpus > 0;
    return std::make_tuple(!n.awake, new_to_it, gpus_unused, free, -used, i);
  };
  std::sort(fitting->begin(), fitting->end(), [&](size_t a, size_t b) { return key(a) < key(b); });
}

// Adds as many of `asleep` as are missing to reach `min`: first those of the previous attempt, then
// the largest.
void AddAsleep(const std::vector<NodeSpace>& nodes, const NodeWishes& wishes, size_t min,
               std::vector<size_t> asleep, std::vector<size_t>* fitting) {
  if (fitting->size() >= min) return;
  const auto key = [&](size_t i) {
    const bool new_to_it = LastRank(wishes, nodes[i].name) == std::numeric_limits<size_t>::max();
    return std::make_tuple(new_to_it, -AllDevices(nodes[i]), i);
  };
  std::sort(asleep.begin(), asleep.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
  asleep.resize(min - fitting->size());
  fitting->insert(fitting->end(), asleep.begin(), asleep.end());
}

// Nodes of the previous attempt keep their node rank if that still exists. The others fill the gaps
// in the order of the request's list, or by name.
std::vector<size_t> InRankOrder(const RunRequest& request, const std::vector<NodeSpace>& nodes,
                                const NodeWishes& wishes, std::vector<size_t> chosen) {
  constexpr size_t kNobody = std::numeric_limits<size_t>::max();
  std::vector<size_t> order(chosen.size(), kNobody);
  std::vector<size_t> others;
  for (size_t i : chosen) {
    const size_t rank = LastRank(wishes, nodes[i].name);
    if (rank < order.size()) {
      order[rank] = i;
    } else {
      others.push_back(i);
    }
  }
  const auto listed = [&](size_t i) {
    const auto& list = request.node_list;
    return std::find(list.begin(), list.end(), nodes[i].name) - list.begin();
  };
  std::sort(others.begin(), others.end(), [&](size_t a, size_t b) {
    return std::make_pair(listed(a), a) < std::make_pair(listed(b), b);
  });
  auto next = others.begin();
  for (size_t& place : order) {
    if (place == kNobody) place = *next++;
  }
  return order;
}

NodeShare MakeShare(const RunRequest& request, const NodeSpace& space, size_t index,
                    int32_t common) {
  NodeShare share;
  share.node = index;
  const int32_t gpus = request.gpus_per_node.value_or(common);
  if (space.gpus > 0 && gpus > 0) {
    share.devices.assign(space.free_gpus.begin(), space.free_gpus.begin() + gpus);
  } else if (space.slots > 0) {
    share.devices = {space.free_slots.front()};
  }
  share.ranks = request.ranks_per_node;
  if (share.ranks == 0) share.ranks = std::max<int32_t>(1, Size(share.devices));
  return share;
}

std::string WhyThese(const RunRequest& request, const std::vector<NodeSpace>& nodes,
                     const NodeWishes& wishes, const std::vector<size_t>& chosen, size_t choices) {
  std::vector<std::string> names, kept, asleep;
  for (size_t i : chosen) {
    names.push_back(nodes[i].name);
    if (LastRank(wishes, nodes[i].name) != std::numeric_limits<size_t>::max()) {
      kept.push_back(nodes[i].name);
    }
    if (!nodes[i].awake) asleep.push_back(nodes[i].name);
  }
  std::string why = JoinWords(names);
  if (kept.size() == names.size()) {
    absl::StrAppend(&why, kept.size() == wishes.last_nodes->size()
                              ? ": as in the attempt before"
                              : ": of the nodes of the attempt before");
  } else if (!kept.empty()) {
    absl::StrAppend(&why, ": keeps ", JoinWords(kept), " of the attempt before");
  } else if (choices == names.size()) {
    absl::StrAppend(
        &why, names.size() == 1 ? ": the only node that is free" : ": the only nodes that are free",
        request.node_list.empty() && request.exclude.empty() ? "" : " and may be used");
  } else {
    absl::StrAppend(&why, ": ", names.size(), " of ", choices,
                    " free nodes; those with the fewest free devices are taken first, so that "
                    "larger runs find room");
  }
  if (!asleep.empty()) absl::StrAppend(&why, "; ", JoinWords(asleep), " must be woken first");
  return why;
}

std::string WhyNotAllDevices(const std::vector<NodeSpace>& nodes, const std::vector<size_t>& chosen,
                             int32_t common) {
  std::vector<std::string> larger;
  for (size_t i : chosen) {
    if (AllDevices(nodes[i]) > common) {
      larger.push_back(absl::StrCat(nodes[i].name, " has ", nodes[i].gpus));
    }
  }
  if (larger.empty()) return "";
  return absl::StrCat("; uses ", Count(common, "GPU"),
                      " of each, the fewest that one of them has (", JoinWords(larger), ")");
}

}  // namespace

NodeSpace EmptySpace(const std::string& name, const protocol::Inventory& inventory) {
  NodeSpace space;
  space.name = name;
  for (const protocol::Device& device : inventory.devices) {
    (device.kind == protocol::DeviceKind::kGpu ? space.free_gpus : space.free_slots)
        .push_back(device.index);
  }
  space.gpus = Size(space.free_gpus);
  space.trouble = !inventory.gpu_trouble.empty();
  if (space.gpus > 0) {
    space.free_slots.clear();
    space.seats = std::max(1, inventory.cores);
  }
  space.slots = Size(space.free_slots);
  space.free_seats = space.seats;
  return space;
}

void Take(NodeSpace* space, const std::vector<int32_t>& devices) {
  if (devices.empty()) --space->free_seats;
  for (int32_t device : devices) {
    for (auto* free : {&space->free_gpus, &space->free_slots}) {
      free->erase(std::remove(free->begin(), free->end(), device), free->end());
    }
  }
}

void GiveBack(NodeSpace* space, const std::vector<int32_t>& devices) {
  if (devices.empty()) ++space->free_seats;
  auto& free = space->gpus > 0 ? space->free_gpus : space->free_slots;
  for (int32_t device : devices) {
    const auto at = std::lower_bound(free.begin(), free.end(), device);
    if (at == free.end() || *at != device) free.insert(at, device);
  }
}

bool IsFree(const NodeSpace& space, const std::vector<int32_t>& devices) {
  if (!space.usable || !space.awake) return false;
  if (devices.empty()) return space.free_seats > 0;
  const auto& free = space.gpus > 0 ? space.free_gpus : space.free_slots;
  return std::includes(free.begin(), free.end(), devices.begin(), devices.end());
}

bool AnythingFree(const NodeSpace& space) {
  return space.usable &&
         (!space.free_gpus.empty() || !space.free_slots.empty() || space.free_seats > 0);
}

bool IsKeptFrom(const RunRequest& request, const NodeSpace& space) {
  return space.trouble && WantsAllGpus(request) && !Contains(request.node_list, space.name);
}

bool Fits(const RunRequest& request, const NodeSpace& space) {
  if (IsKeptFrom(request, space)) return false;
  if (WantsAllGpus(request) && space.gpus > 0) return Size(space.free_gpus) == space.gpus;
  const int32_t gpus = request.gpus_per_node.value_or(0);
  if (gpus > 0) return Size(space.free_gpus) >= gpus;
  return !space.free_slots.empty() || (!WantsAllGpus(request) && space.free_seats > 0);
}

bool CouldHold(const RunRequest& request, const NodeSpace& space) {
  if (!Allowed(request, space.name)) return false;
  if (WantsAllGpus(request)) return space.gpus > 0 || space.slots > 0;
  if (*request.gpus_per_node > 0) return space.gpus >= *request.gpus_per_node;
  return space.slots > 0 || space.seats > 0;
}

bool MustLeaveAsleep(const NodeWishes& wishes, const NodeSpace& space) {
  return !space.awake && wishes.leave_asleep != nullptr &&
         Contains(*wishes.leave_asleep, space.name);
}

std::vector<size_t> Eligible(const RunRequest& request, const std::vector<NodeSpace>& nodes) {
  std::vector<size_t> all, with_gpus;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!CouldHold(request, nodes[i])) continue;
    all.push_back(i);
    if (nodes[i].gpus > 0) with_gpus.push_back(i);
  }
  const bool enough = with_gpus.size() >= static_cast<size_t>(request.min_nodes);
  return WantsAllGpus(request) && enough ? with_gpus : all;
}

std::optional<Fit> Choose(const RunRequest& request, const std::vector<NodeSpace>& nodes,
                          const std::vector<size_t>& eligible, const NodeWishes& wishes) {
  const size_t min = static_cast<size_t>(request.min_nodes);
  const size_t max = static_cast<size_t>(request.max_nodes);
  std::vector<size_t> fitting, asleep, unable;
  for (size_t i : eligible) {
    if (!nodes[i].usable || !Fits(request, nodes[i])) continue;
    if (nodes[i].unable) {
      unable.push_back(i);
    } else if (nodes[i].awake) {
      fitting.push_back(i);
    } else if (!MustLeaveAsleep(wishes, nodes[i])) {
      asleep.push_back(i);
    }
  }
  if (fitting.size() + asleep.size() < min) {
    fitting.insert(fitting.end(), unable.begin(), unable.end());
    unable.clear();
  }
  if (fitting.size() + asleep.size() < min) return std::nullopt;
  const size_t choices = fitting.size() + asleep.size();
  AddAsleep(nodes, wishes, min, std::move(asleep), &fitting);
  const size_t count = std::min(fitting.size(), max);
  int32_t common = 0;
  if (WantsAllGpus(request)) KeepLargest(nodes, count, &fitting, &common);
  SortByPreference(request, nodes, wishes, &fitting);
  fitting.resize(count);

  Fit fit;
  const std::vector<size_t> order = InRankOrder(request, nodes, wishes, fitting);
  for (size_t i : order) fit.shares.push_back(MakeShare(request, nodes[i], i, common));
  fit.reason = WhyThese(request, nodes, wishes, order, choices);
  if (!unable.empty()) {
    std::vector<std::string> names;
    for (size_t i : unable) names.push_back(nodes[i].name);
    absl::StrAppend(&fit.reason, "; ", JoinWords(names), " could not prepare a run lately");
  }
  if (WantsAllGpus(request)) fit.reason += WhyNotAllDevices(nodes, order, common);
  return fit;
}

}  // namespace hpc::coordinator
