#include "client/cli/input/suggest.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace hpc::client {

std::string Suggest(absl::string_view typed, const std::vector<std::string>& candidates) {
  std::string begins;
  int matches = 0;
  for (const std::string& candidate : candidates) {
    if (!typed.empty() && absl::StartsWith(candidate, typed)) {
      begins = candidate;
      ++matches;
    }
  }
  return matches == 1 ? begins : Nearest(typed, candidates);
}

std::string DidYouMean(absl::string_view typed, const std::vector<std::string>& candidates) {
  const std::string meant = Suggest(typed, candidates);
  return meant.empty() ? "" : absl::StrCat(" Did you mean '", meant, "'?");
}

}  // namespace hpc::client
