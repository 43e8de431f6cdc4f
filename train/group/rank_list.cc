#include "train/group/rank_list.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace hpc::train {

std::string RankList(const std::vector<int>& ranks) {
  return ranks.empty() ? "-" : absl::StrJoin(ranks, ",");
}

std::optional<std::vector<int>> ParseRankList(absl::string_view text) {
  std::vector<int> ranks;
  if (text == "-") return ranks;
  for (absl::string_view one : absl::StrSplit(text, ',')) {
    int rank = 0;
    if (!absl::SimpleAtoi(one, &rank) || rank < 0) return std::nullopt;
    ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace hpc::train
