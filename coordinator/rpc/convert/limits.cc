#include "coordinator/rpc/convert/limits.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace hpc::coordinator {

absl::Status CheckLength(absl::string_view what, size_t bytes, size_t most) {
  if (bytes <= most) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      what, " is ", HumanBytes(bytes), " long; at most ", HumanBytes(most), " are taken"));
}

absl::Status CheckCount(absl::string_view what, int count) {
  if (count <= kMaxPairs) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(count, " ", what, " are too many; at most ", kMaxPairs, " are taken"));
}

absl::Status CheckRange(absl::string_view what, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " is ", value, "; it must be from ", least, " to ", most));
}

absl::Status CheckSpan(absl::string_view what, int64_t span, int64_t most) {
  if (span >= 0 && span <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " is ", HumanDuration(absl::Milliseconds(span)), "; it must be from 0 to ",
                   HumanDuration(absl::Milliseconds(most))));
}

absl::Status CheckShortText(absl::string_view what, const std::string& text, size_t most) {
  HPC_RETURN_IF_ERROR(CheckLength(what, text.size(), most));
  return CheckText(what, text);
}

}  // namespace hpc::coordinator
