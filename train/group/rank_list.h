// Ranks as one word of a message. Needs no LibTorch.
#ifndef HPC_TRAIN_GROUP_RANK_LIST_H_
#define HPC_TRAIN_GROUP_RANK_LIST_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace hpc::train {

// "0,2,3"; "-" where there are none.
std::string RankList(const std::vector<int>& ranks);

// Nothing where it is no such word.
std::optional<std::vector<int>> ParseRankList(absl::string_view text);

}  // namespace hpc::train

#endif  // HPC_TRAIN_GROUP_RANK_LIST_H_
