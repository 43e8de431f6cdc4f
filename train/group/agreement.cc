#include "train/group/agreement.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "train/tensors/tensor_text.h"

namespace hpc::train {
namespace {

// Computes FNV-1a. With two seeds it gives a pair of hashes, which is the same for different texts
// once in 2^128.
uint64_t HashOf(const std::string& bytes, uint64_t seed) {
  uint64_t hash = 0xcbf29ce484222325 ^ seed;
  for (unsigned char byte : bytes) hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

std::string LineOr(const std::vector<std::string>& lines, size_t index) {
  return index < lines.size() ? lines[index] : "nothing more";
}

}  // namespace

std::vector<std::string> DescribeTensors(const std::string& what,
                                         const std::vector<NamedTensor>& tensors) {
  std::vector<std::string> lines;
  for (const NamedTensor& one : tensors) {
    lines.push_back(absl::StrCat(what, " '", one.name, "' ", TensorText(one.tensor)));
  }
  return lines;
}

std::optional<std::string> FirstDifference(const std::vector<std::vector<std::string>>& ranks,
                                           const std::vector<int>& numbers) {
  auto number = [&](size_t rank) {
    return numbers.empty() ? static_cast<int>(rank) : numbers[rank];
  };
  for (size_t rank = 1; rank < ranks.size(); ++rank) {
    const size_t lines = std::max(ranks[0].size(), ranks[rank].size());
    for (size_t i = 0; i < lines; ++i) {
      const std::string ours = LineOr(ranks[0], i), theirs = LineOr(ranks[rank], i);
      if (ours == theirs) continue;
      return absl::StrCat("rank ", number(rank), " differs from rank ", number(0), ": it has ",
                          theirs, " where rank ", number(0), " has ", ours);
    }
  }
  return std::nullopt;
}

void CheckSameOnAllRanks(Communicator& group, const std::vector<std::string>& lines) {
  const std::string mine = absl::StrJoin(lines, "\n");
  const int64_t hashes[] = {static_cast<int64_t>(HashOf(mine, 0)),
                            static_cast<int64_t>(HashOf(mine, 0x9e3779b97f4a7c15))};
  at::Tensor own = at::zeros({2}, at::kLong);
  std::memcpy(own.data_ptr(), hashes, sizeof hashes);
  at::Tensor all = at::zeros({group.size(), 2}, at::kLong);
  group.AllGather(all, own, {"hashes of descriptions", {}})->Wait();
  if (all.eq(own).all().item<bool>()) return;
  std::vector<std::vector<std::string>> ranks;
  for (const std::string& text : GatherTexts(group, mine)) {
    ranks.push_back(text.empty() ? std::vector<std::string>()
                                 : std::vector<std::string>(absl::StrSplit(text, '\n')));
  }
  std::vector<int> numbers;
  for (int rank = 0; rank < group.size(); ++rank) numbers.push_back(group.NumberOf(rank));
  throw std::invalid_argument(
      FirstDifference(ranks, numbers).value_or("hashes of equal descriptions differ"));
}

std::vector<std::string> GatherTexts(Communicator& group, const std::string& mine) {
  at::Tensor lengths = at::zeros({group.size()}, at::kLong);
  const at::Tensor length = at::full({1}, static_cast<int64_t>(mine.size()), at::kLong);
  group.AllGather(lengths, length, {"lengths of descriptions", {}})->Wait();
  const int64_t longest = std::max<int64_t>(lengths.max().item<int64_t>(), 1);
  at::Tensor own = at::zeros({longest}, at::kByte);
  std::memcpy(own.data_ptr(), mine.data(), mine.size());
  at::Tensor all = at::zeros({group.size() * longest}, at::kByte);
  group.AllGather(all, own, {"descriptions", {}})->Wait();
  std::vector<std::string> texts;
  for (int rank = 0; rank < group.size(); ++rank) {
    texts.emplace_back(static_cast<const char*>(all.data_ptr()) + rank * longest,
                       lengths[rank].item<int64_t>());
  }
  return texts;
}

}  // namespace hpc::train
