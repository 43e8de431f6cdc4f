#include "common/telling_line.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace hpc {
namespace {

// Returns "ValueError: x" for "[rank1]: ValueError: x": torch puts the rank before each line of an
// uncaught exception.
absl::string_view WithoutRank(absl::string_view line) {
  const size_t colon = line.find("]: ");
  if (absl::StartsWith(line, "[rank") && colon != absl::string_view::npos) {
    line.remove_prefix(colon + 3);
  }
  return line;
}

// Returns whether `line` ends a Python traceback: "ValueError: bad shape",
// "torch.cuda.OutOfMemoryError: ...".
bool NamesAnException(absl::string_view line) {
  const absl::string_view name = line.substr(0, line.find(':'));
  if (name.empty() || !absl::ascii_isalpha(static_cast<unsigned char>(name[0]))) return false;
  for (const char c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_') return false;
  }
  return absl::EndsWith(name, "Error") || absl::EndsWith(name, "Exception") ||
         name == "KeyboardInterrupt";
}

}  // namespace

absl::string_view TellingLine(absl::string_view text) {
  absl::string_view last, exception;
  for (absl::string_view line : absl::StrSplit(text, absl::ByAnyChar("\r\n"))) {
    line = WithoutRank(absl::StripAsciiWhitespace(line));
    if (line.empty()) continue;
    last = line;
    // torch's launcher only says that one of its processes has failed, but not why.
    const bool of_launcher = absl::StrContains(line, "ChildFailedError:");
    if (NamesAnException(line) && (!of_launcher || exception.empty())) exception = line;
  }
  return exception.empty() ? last : exception;
}

}  // namespace hpc
