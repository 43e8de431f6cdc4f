#include "coordinator/core/policy/giving.h"

#include <algorithm>

namespace hpc::coordinator {
namespace {

struct Offer {
  RunId run;
  const NodeShare* share;
};

// All that the gangs could give and the waiting run could use.
std::vector<Offer> Offers(const std::vector<NodeSpace>& nodes, const RunRequest& waiting,
                          const std::vector<ElasticGang>& gangs) {
  std::vector<Offer> offers;
  for (const ElasticGang& gang : gangs) {
    auto left = static_cast<int64_t>(gang.shares.size()) - gang.min_nodes;
    for (auto share = gang.shares.rbegin(); share != gang.shares.rend() && left > 0; ++share) {
      const NodeSpace& node = nodes[share->node];
      if (!node.usable || !CouldHold(waiting, node) || IsKeptFrom(waiting, node)) continue;
      offers.push_back({gang.run, &*share});
      --left;
    }
  }
  return offers;
}

}  // namespace

std::vector<Gift> NodesToGive(std::vector<NodeSpace> nodes, const RunRequest& waiting,
                              const NodeWishes& wishes, const std::vector<ElasticGang>& gangs) {
  const std::vector<size_t> eligible = Eligible(waiting, nodes);
  const auto starts = [&] { return Choose(waiting, nodes, eligible, wishes).has_value(); };
  std::vector<Offer> taken;
  for (const Offer& offer : Offers(nodes, waiting, gangs)) {
    if (starts()) break;
    GiveBack(&nodes[offer.share->node], offer.share->devices);
    taken.push_back(offer);
  }
  if (!starts()) return {};
  // What was taken first may be of no use beside what was taken later.
  std::vector<Gift> gifts;
  for (const Offer& offer : taken) {
    Take(&nodes[offer.share->node], offer.share->devices);
    if (starts()) continue;
    GiveBack(&nodes[offer.share->node], offer.share->devices);
    if (gifts.empty() || gifts.back().run != offer.run) gifts.push_back({offer.run, {}});
    gifts.back().nodes.push_back(offer.share->node);
  }
  return gifts;
}

}  // namespace hpc::coordinator
