#include "train/checkpoint/saved_states.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "train/checkpoint/safetensors_tensors.h"

namespace hpc::train {

std::vector<NamedTensor> NamedStates(const std::vector<ShardedOptimizer::StateSlice>& states) {
  std::vector<NamedTensor> named;
  for (const ShardedOptimizer::StateSlice& one : states) {
    named.push_back({absl::StrCat(one.parameter, ":", one.state, ":", one.begin), one.values});
  }
  return named;
}

SavedStates::SavedStates(const std::vector<std::string>& paths)
    : SavedStates(std::vector<SafetensorsFile>(paths.begin(), paths.end())) {}

SavedStates::SavedStates(std::vector<SafetensorsFile> files) : files_(std::move(files)) {
  for (size_t file = 0; file < files_.size(); ++file) {
    for (const SafetensorsTensor& one : files_[file].header().tensors) {
      // A parameter's name may itself contain colons.
      const size_t second = one.name.rfind(':');
      const size_t first = second == std::string::npos || second == 0
                               ? std::string::npos
                               : one.name.rfind(':', second - 1);
      int64_t begin = 0;
      if (first == std::string::npos || one.shape.size() != 1 ||
          !absl::SimpleAtoi(one.name.substr(second + 1), &begin) || begin < 0) {
        throw SafetensorsError(files_[file].path() + ": '" + one.name +
                               "' is no state of an optimizer");
      }
      states_[{one.name.substr(0, first), one.name.substr(first + 1, second - first - 1)}][begin] =
          {.file = file, .tensor = one, .count = one.shape[0]};
    }
  }
}

bool SavedStates::Read(ShardedOptimizer::StateSlice& wanted) const {
  const auto found = states_.find({wanted.parameter, wanted.state});
  if (found == states_.end()) return false;
  const std::map<int64_t, Saved>& saved = found->second;
  const std::string type = SafetensorsTypeOf(wanted.values.scalar_type());
  const int64_t size = static_cast<int64_t>(wanted.values.element_size());
  char* const out = static_cast<char*>(wanted.values.data_ptr());
  // "step" is the same for all elements of a slice; any other state is cut at an element's
  // position.
  const bool is_step = wanted.state == "step";
  int64_t done = 0;
  while (done < wanted.values.numel()) {
    const int64_t at = wanted.begin + done;
    auto next = saved.upper_bound(at);
    if (next == saved.begin()) break;
    const auto& [begin, from] = *std::prev(next);
    if (from.tensor.dtype != type) {
      throw SafetensorsError(absl::StrCat(files_[from.file].path(), ": ", wanted.state,
                                          " of parameter '", wanted.parameter, "' is ",
                                          from.tensor.dtype, ", and the optimizer's is ", type));
    }
    const int64_t skip = is_step ? 0 : at - begin;
    const int64_t count = std::min(from.count - skip, wanted.values.numel() - done);
    if (count <= 0) break;
    const absl::string_view bytes = files_[from.file].Bytes(from.tensor);
    std::memcpy(out + done * size, bytes.data() + skip * size, count * size);
    done += count;
  }
  if (done == wanted.values.numel()) return true;
  throw SafetensorsError(absl::StrCat("what was saved has ", wanted.state, " of parameter '",
                                      wanted.parameter, "', but not of its element ",
                                      wanted.begin + done));
}

}  // namespace hpc::train
