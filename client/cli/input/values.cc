#include "client/cli/input/values.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "client/cli/input/usage_error.h"
#include "common/text.h"

namespace hpc::client {

absl::StatusOr<int64_t> ReadInteger(absl::string_view option, absl::string_view value, int64_t min,
                                    int64_t max) {
  int64_t number = 0;
  if (absl::SimpleAtoi(value, &number) && number >= min && number <= max) return number;
  return usage::NotANumber(option, value, min, max);
}

absl::StatusOr<absl::Duration> ReadDuration(absl::string_view option, absl::string_view value) {
  const absl::StatusOr<absl::Duration> duration = ParseDuration(value);
  if (duration.ok()) return duration;
  return usage::BadValue(option, absl::string_view(duration.status().message()));
}

absl::StatusOr<size_t> ReadChoice(absl::string_view option, absl::string_view value,
                                  const std::vector<std::string>& choices) {
  const auto found = std::find(choices.begin(), choices.end(), value);
  if (found != choices.end()) return found - choices.begin();
  return usage::NotAChoice(option, value, choices);
}

}  // namespace hpc::client
