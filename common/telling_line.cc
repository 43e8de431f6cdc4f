#include "common/telling_line.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace hpc {
namespace {

constexpr absl::string_view kOwnNote = "[hpcctl: ";

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

bool IsNumber(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsDigit);
}

bool IsOfAName(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_';
}

// Returns "ValueError: x" for "[rank1]: ValueError: x": torch puts the rank before each line of an
// uncaught exception, and "[rank1]:" before what its C++ logs.
absl::string_view WithoutRank(absl::string_view line) {
  absl::string_view rest = line;
  if (!absl::ConsumePrefix(&rest, "[rank")) return line;
  const size_t end = rest.find("]:");
  if (end == absl::string_view::npos || !IsNumber(rest.substr(0, end))) return line;
  return absl::StripLeadingAsciiWhitespace(rest.substr(end + 2));
}

// Returns whether a C++ library logged `line` as a warning or for information: "[W1127 20:11:05.1
// socket.cpp:752] ...", "[I socket.cpp:752] ..." of torch, "W1127 20:11:05.1 4711 run.py:12] ...".
bool IsLoggedInPassing(absl::string_view line) {
  absl::ConsumePrefix(&line, "[");
  const size_t end = line.find(']');
  if (end == absl::string_view::npos || end < 2) return false;
  if (line[0] != 'W' && line[0] != 'I') return false;
  if (!IsDigit(line[1]) && line[1] != ' ') return false;
  const absl::string_view head = line.substr(0, end);
  const size_t space = head.rfind(' '), colon = head.rfind(':');
  if (space == absl::string_view::npos || colon == absl::string_view::npos) return false;
  return space + 1 < colon && IsNumber(head.substr(colon + 1));
}

// Returns whether `line` ends a Python traceback: "ValueError: bad shape",
// "torch.cuda.OutOfMemoryError: ...".
bool NamesAnException(absl::string_view line) {
  const absl::string_view name = line.substr(0, line.find(':'));
  if (name.empty() || !absl::ascii_isalpha(static_cast<unsigned char>(name[0]))) return false;
  if (!std::all_of(name.begin(), name.end(), IsOfAName)) return false;
  return absl::EndsWith(name, "Error") || absl::EndsWith(name, "Exception") ||
         name == "KeyboardInterrupt";
}

// Returns whether `line` begins with a place in a Python file: "/venv/pytree.py:21: `isinstance` is
// deprecated". So Lightning shows its warnings. pytest shows exceptions so, too.
bool IsRemarkOnAPlace(absl::string_view line) {
  constexpr absl::string_view kPython = ".py:";
  const size_t file_end = line.find(kPython);
  if (file_end == absl::string_view::npos || absl::StrContains(line.substr(0, file_end), ' ')) {
    return false;
  }
  const absl::string_view rest = line.substr(file_end + kPython.size());
  const size_t colon = rest.find(": ");
  return colon != absl::string_view::npos && IsNumber(rest.substr(0, colon)) &&
         !NamesAnException(rest.substr(colon + 2));
}

// Returns whether Python issued `line` as a warning: "train.py:12: UserWarning: ...". Without a
// place before it, "UserWarning: ..." is the end of a traceback.
bool IsPythonWarning(absl::string_view line) {
  if (IsRemarkOnAPlace(line)) return true;
  const size_t name_end = line.find("Warning:");
  if (name_end == absl::string_view::npos) return false;
  absl::string_view place = line.substr(0, name_end);
  while (!place.empty() && IsOfAName(place.back())) place.remove_suffix(1);
  if (!absl::ConsumeSuffix(&place, ": ")) return false;
  const size_t colon = place.rfind(':');
  return colon != absl::string_view::npos && IsNumber(place.substr(colon + 1));
}

// How many lines from lines[at] on belong to a warning of Python; 0 if none begins there. Below its
// text, which may have several lines, Python shows the line of source that issued it, indented.
size_t LinesOfWarning(const std::vector<absl::string_view>& lines, size_t at) {
  constexpr size_t kLongest = 6;
  if (!IsPythonWarning(WithoutRank(absl::StripAsciiWhitespace(lines[at])))) return 0;
  for (size_t i = at + 1; i < std::min(at + kLongest, lines.size()); ++i) {
    if (absl::StartsWith(lines[i], "  ")) return i - at + 1;
  }
  return 1;
}

}  // namespace

absl::string_view TellingLine(absl::string_view text) {
  const std::vector<absl::string_view> lines = absl::StrSplit(text, absl::ByAnyChar("\r\n"));
  absl::string_view last, exception;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (const size_t warning = LinesOfWarning(lines, i); warning > 0) {
      i += warning - 1;
      continue;
    }
    const absl::string_view line = WithoutRank(absl::StripAsciiWhitespace(lines[i]));
    if (line.empty() || IsLoggedInPassing(line) || absl::StartsWith(line, kOwnNote)) continue;
    last = line;
    if (NamesAnException(line) && (!IsOfLauncher(line) || exception.empty())) exception = line;
  }
  return exception.empty() ? last : exception;
}

bool IsOfLauncher(absl::string_view line) {
  return absl::StrContains(line, "ChildFailedError:") ||
         (absl::StartsWith(line, "subprocess.CalledProcessError: ") &&
          absl::StrContains(line, "returned non-zero exit status"));
}

}  // namespace hpc
