#include "worker/attempts/python_traceback.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/telling_line.h"

namespace hpc::worker {
namespace {

using Lines = std::vector<absl::string_view>;

constexpr absl::string_view kGroupHeader = "  + Exception Group Traceback (most recent call last):";
constexpr absl::string_view kHandling =
    "During handling of the above exception, another exception occurred:";
constexpr absl::string_view kCause =
    "The above exception was the direct cause of the following exception:";
// Python prints these for exceptions that end nothing.
constexpr absl::string_view kIgnored = "Exception ignored ";

// The length of "[rank1]: " at the beginning of `line`; 0: it has none.
size_t PrefixLength(absl::string_view line) {
  const size_t end = line.find("]:");
  if (!absl::StartsWith(line, "[rank") || end == absl::string_view::npos) return 0;
  if (end + 2 == line.size()) return line.size();  // an empty line whose last space was removed
  return line[end + 2] == ' ' ? end + 3 : 0;
}

bool IsFrame(absl::string_view line) { return absl::StartsWith(line, " "); }

// Finds the exception's line for the traceback whose header is at `at`; lines.size() if there is
// none.
size_t ExceptionOf(const Lines& lines, size_t at) {
  size_t end = at + 1;
  while (end < lines.size() && IsFrame(lines[end])) ++end;
  return end > at + 1 && end < lines.size() && !lines[end].empty() ? end : lines.size();
}

// Finds the header of the first traceback in the chain that led to the one at `header`; `header` if
// there is no chain.
size_t FirstOfChain(const Lines& lines, size_t header) {
  if (header < 2 || (lines[header - 2] != kHandling && lines[header - 2] != kCause)) return header;
  for (size_t at = header - 2; at-- > 0;) {
    if (lines[at] == kTracebackHeader) return FirstOfChain(lines, at);
  }
  return header;
}

// The line as Python wrote it. A progress bar may stand in front of it: it begins with a carriage
// return, or ends with a bracket.
absl::string_view Clean(absl::string_view line) {
  line = absl::StripTrailingAsciiWhitespace(line.substr(PrefixLength(line)));
  for (const absl::string_view header : {kGroupHeader, kTracebackHeader}) {
    if (!absl::EndsWith(line, header)) continue;
    const absl::string_view front = line.substr(0, line.size() - header.size());
    if (absl::EndsWith(front, "]") || absl::StrContains(front, '\r')) return header;
  }
  return line;
}

std::string Join(const Lines& lines, size_t begin, size_t end) {
  return absl::StrJoin(lines.begin() + static_cast<std::ptrdiff_t>(begin),
                       lines.begin() + static_cast<std::ptrdiff_t>(end), "\n");
}

// The traceback whose header is at `at`. nullopt: it ends nothing, or is torn.
std::optional<RankReport> TracebackAt(const Lines& raw, const Lines& lines, size_t at) {
  if (at > 0 && absl::StartsWith(lines[at - 1], kIgnored)) return std::nullopt;
  const size_t exception = ExceptionOf(lines, at);
  if (exception == lines.size()) return std::nullopt;
  // The words of an exception may take several lines. What others print after it has another
  // prefix.
  const size_t prefix = PrefixLength(raw[exception]);
  size_t end = exception + 1;
  while (end < lines.size() && !lines[end].empty() && PrefixLength(raw[end]) == prefix) ++end;
  return RankReport{std::string(lines[exception]), Join(lines, FirstOfChain(lines, at), end)};
}

// Python draws a frame of '|' and '+' around a group and its members. The group's words are the
// first line in it that has no further indentation.
std::optional<RankReport> GroupAt(const Lines& lines, size_t at) {
  constexpr absl::string_view kFrame = "  | ";
  absl::string_view words;
  size_t end = at + 1;
  for (; end < lines.size(); ++end) {
    const absl::string_view inner = absl::StripLeadingAsciiWhitespace(lines[end]);
    if (inner.empty() || (inner[0] != '|' && inner[0] != '+')) break;
    absl::string_view framed = lines[end];
    const bool tells = absl::ConsumePrefix(&framed, kFrame) && !IsFrame(framed);
    if (words.empty() && tells) words = framed;
  }
  if (words.empty()) return std::nullopt;
  return RankReport{std::string(words), Join(lines, at, end)};
}

}  // namespace

std::optional<RankReport> FindTraceback(absl::string_view text) {
  const Lines raw = absl::StrSplit(text, '\n');
  Lines lines;
  for (absl::string_view line : raw) lines.push_back(Clean(line));
  std::optional<RankReport> of_launcher;
  for (size_t at = lines.size(); at-- > 0;) {
    std::optional<RankReport> found;
    if (lines[at] == kTracebackHeader) found = TracebackAt(raw, lines, at);
    if (lines[at] == kGroupHeader) found = GroupAt(lines, at);
    if (!found) continue;
    if (!IsOfLauncher(found->message)) return found;
    if (!of_launcher) of_launcher = std::move(found);
  }
  return of_launcher;
}

}  // namespace hpc::worker
