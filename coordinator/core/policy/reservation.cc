#include "coordinator/core/policy/reservation.h"

#include <algorithm>
#include <limits>

namespace hpc::coordinator {
namespace {

using Surplus = Reservation::Surplus;

constexpr int32_t kUnbounded = std::numeric_limits<int32_t>::max();

// What is left of `space` when one node's share of `request` is taken from it.
Surplus Beside(const RunRequest& request, const NodeSpace& space) {
  Surplus left{static_cast<int32_t>(space.free_gpus.size()),
               static_cast<int32_t>(space.free_slots.size()), space.free_seats};
  const bool all = !request.gpus_per_node.has_value();
  if (space.gpus > 0 && all) {
    left.gpus = 0;
  } else if (space.gpus > 0 && *request.gpus_per_node > 0) {
    left.gpus -= *request.gpus_per_node;
  } else if (space.slots > 0) {
    left.slots -= 1;
  } else {
    left.seats -= 1;
  }
  return left;
}

// Plays ahead how devices come free, and says which nodes then fit the request.
class Future {
 public:
  Future(const PlacementInput& input, const Candidate& candidate)
      : request_(*candidate.request), spaces_(input.nodes), eligible_(input.nodes.size()) {
    for (size_t i : Eligible(request_, input.nodes)) {
      if (MustLeaveAsleep(candidate.wishes, spaces_[i])) continue;
      eligible_[i] = true;
      if (FitsNow(i)) ++fitting_;
    }
  }

  bool Enough() const { return fitting_ >= request_.min_nodes; }
  bool FitsNow(size_t i) const {
    return eligible_[i] && spaces_[i].usable && Fits(request_, spaces_[i]);
  }
  bool eligible(size_t i) const { return eligible_[i]; }
  const NodeSpace& space(size_t i) const { return spaces_[i]; }

  void Release(const TakenShare& share) {
    Change(share.node, [&](NodeSpace* space) { GiveBack(space, share.devices); });
  }
  void Return(const AwayNode& away) {
    Change(away.node, [](NodeSpace* space) { space->usable = true; });
  }

 private:
  template <typename F>
  void Change(size_t i, F change) {
    const bool before = FitsNow(i);
    change(&spaces_[i]);
    fitting_ += static_cast<int32_t>(FitsNow(i)) - static_cast<int32_t>(before);
  }

  const RunRequest& request_;
  std::vector<NodeSpace> spaces_;
  std::vector<bool> eligible_;
  int32_t fitting_ = 0;
};

struct Release {
  MonoTime at;
  const TakenShare* share;  // or
  const AwayNode* away;
};

std::vector<Release> KnownReleases(const PlacementInput& input) {
  std::vector<Release> releases;
  for (const TakenShare& share : input.taken) {
    if (share.until < MonoTime::Infinite()) releases.push_back({share.until, &share, nullptr});
  }
  for (const AwayNode& away : input.away) releases.push_back({away.until, nullptr, &away});
  std::stable_sort(releases.begin(), releases.end(),
                   [](const Release& a, const Release& b) { return a.at < b.at; });
  return releases;
}

// For a known start: `future` is in the state of that time. Of the nodes that fit then, min_nodes
// are kept. Nodes that are not free now are kept first, so that the free ones can be used
// meanwhile.
std::vector<Surplus> SurplusAtStart(const PlacementInput& input, const RunRequest& request,
                                    const Future& future) {
  std::vector<size_t> kept;
  for (bool free_now : {false, true}) {
    for (size_t i = 0; i < input.nodes.size(); ++i) {
      const bool is_free = input.nodes[i].usable && Fits(request, input.nodes[i]);
      if (future.FitsNow(i) && is_free == free_now) kept.push_back(i);
    }
  }
  kept.resize(static_cast<size_t>(request.min_nodes));
  std::vector<Surplus> surplus(input.nodes.size(), {kUnbounded, kUnbounded, kUnbounded});
  for (size_t i : kept) surplus[i] = Beside(request, future.space(i));
  return surplus;
}

// For an unknown start: any node that the request could use may be the one that is needed. So a
// node that fits now must go on fitting, and any other must fit once all that runs there has ended.
std::vector<Surplus> SurplusForAll(const PlacementInput& input, const RunRequest& request,
                                   const Future& all_ended) {
  std::vector<Surplus> surplus(input.nodes.size(), {kUnbounded, kUnbounded, kUnbounded});
  for (size_t i = 0; i < input.nodes.size(); ++i) {
    if (!all_ended.eligible(i)) continue;
    const NodeSpace& now = input.nodes[i];
    surplus[i] = Beside(request, Fits(request, now) ? now : all_ended.space(i));
  }
  return surplus;
}

}  // namespace

std::optional<Reservation> Reserve(const PlacementInput& input, const Candidate& candidate) {
  const RunRequest& request = *candidate.request;
  Future future(input, candidate);
  const std::vector<Release> releases = KnownReleases(input);
  for (size_t i = 0; i < releases.size(); ++i) {
    const Release& release = releases[i];
    release.share != nullptr ? future.Release(*release.share) : future.Return(*release.away);
    const bool more_at_once = i + 1 < releases.size() && releases[i + 1].at == release.at;
    if (more_at_once || !future.Enough()) continue;
    return Reservation{release.at, SurplusAtStart(input, request, future)};
  }
  for (const TakenShare& share : input.taken) {
    if (share.until == MonoTime::Infinite()) future.Release(share);
  }
  if (!future.Enough()) return std::nullopt;
  return Reservation{MonoTime::Infinite(), SurplusForAll(input, request, future)};
}

std::vector<NodeSpace> Without(const std::vector<NodeSpace>& nodes, const Reservation& held) {
  std::vector<NodeSpace> seen = nodes;
  const auto cut = [](std::vector<int32_t>* free, int32_t most) {
    const size_t size = static_cast<size_t>(std::max(0, most));
    if (free->size() > size) free->resize(size);
  };
  for (size_t i = 0; i < seen.size(); ++i) {
    cut(&seen[i].free_gpus, held.surplus[i].gpus);
    cut(&seen[i].free_slots, held.surplus[i].slots);
    seen[i].free_seats = std::min(seen[i].free_seats, std::max(0, held.surplus[i].seats));
  }
  return seen;
}

}  // namespace hpc::coordinator
