#include "worker/os/process_words.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/files.h"
#include "common/text.h"

namespace hpc::worker {
namespace {

std::string ProcFile(int64_t pid, const char* name) {
  return ReadFile(absl::StrCat("/proc/", pid, "/", name), 4096).value_or("");
}

const char* StateWords(char state) {
  switch (state) {
    case 'R':
      return "computes";
    case 'S':
      return "sleeps";
    case 'D':
      return "is in uninterruptible sleep";
    case 'T':
      return "is stopped by a signal";
    case 't':
      return "is stopped by a debugger";
    case 'Z':
    case 'X':
      return "has ended";
    default:
      return "is idle";
  }
}

}  // namespace

std::string WordsOfStat(absl::string_view stat, absl::string_view wchan) {
  // "4711 (any) thing) S ...": the name ends at the last parenthesis.
  const size_t open = stat.find(" (");
  const size_t close = stat.rfind(") ");
  if (open == absl::string_view::npos || close == absl::string_view::npos || close < open ||
      close + 2 >= stat.size()) {
    return "";
  }
  const char state = stat[close + 2];
  std::string words =
      absl::StrCat(ToValidUtf8(std::string(stat.substr(open + 2, close - open - 2))), " (",
                   stat.substr(0, open), ") ", StateWords(state));
  absl::ConsumeSuffix(&wchan, "\n");
  const bool waits = state == 'S' || state == 'D';
  if (waits && !wchan.empty() && wchan != "0") absl::StrAppend(&words, " in ", wchan);
  return words;
}

std::string ProcessWords(int64_t pid) {
  const std::string stat = ProcFile(pid, "stat");
  return stat.empty() ? "" : WordsOfStat(stat, ProcFile(pid, "wchan"));
}

}  // namespace hpc::worker
