// Lists of ranks as one word of a message. Needs no LibTorch.
#ifndef HPC_TRAIN_GROUP_RANK_LIST_H_
#define HPC_TRAIN_GROUP_RANK_LIST_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace hpc::train {

// Returns "0,2,3", or "-" for an empty list.
std::string RankList(const std::vector<int>& ranks);

// Returns nothing if `text` is not such a word.
std::optional<std::vector<int>> ParseRankList(absl::string_view text);

}  // namespace hpc::train

#endif  // HPC_TRAIN_GROUP_RANK_LIST_H_
