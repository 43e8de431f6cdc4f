#include "client/cli/follow/rank_labels.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/cli/forms/colours.h"

namespace hpc::client {
namespace {

constexpr absl::string_view kRankColours[] = {"\x1b[36m", "\x1b[33m", "\x1b[32m",
                                              "\x1b[35m", "\x1b[34m", "\x1b[31m"};

}  // namespace

bool RankLabels::Needs(int attempt) const {
  return labelling_ != Labelling::kRaw && attempts_.count(attempt) == 0;
}

void RankLabels::Learn(const v1::RunDetail& detail) {
  for (const v1::Attempt& attempt : detail.attempts()) {
    attempts_[attempt.number()].single = attempt.world_size() == 1;
  }
  for (const v1::Placement& placement : detail.placements()) {
    attempts_[placement.attempt()].first_ranks[placement.first_rank()] = placement.node();
  }
}

bool RankLabels::Single(int attempt) const {
  const auto known = attempts_.find(attempt);
  return labelling_ == Labelling::kRaw || (known != attempts_.end() && known->second.single);
}

std::string RankLabels::For(int attempt, int rank) const {
  const auto known = attempts_.find(attempt);
  if (labelling_ == Labelling::kNever || labelling_ == Labelling::kRaw) return "";
  if (labelling_ == Labelling::kAuto && Single(attempt)) return "";
  if (!colours_) return absl::StrCat("[", rank, "] ");
  std::string node;
  if (known != attempts_.end()) {
    const auto& first_ranks = known->second.first_ranks;
    const auto after = first_ranks.upper_bound(rank);
    if (after != first_ranks.begin()) node = " " + std::prev(after)->second;
  }
  const auto colour = kRankColours[static_cast<size_t>(rank) % std::size(kRankColours)];
  return absl::StrCat(colour, "[", rank, node, "]", kEndColour, " ");
}

}  // namespace hpc::client
