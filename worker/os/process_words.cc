#include "worker/os/process_words.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/files/files.h"
#include "common/text.h"
#include "worker/supervisor/os/process_stat.h"

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
  const auto process = ParseProcessStat(std::string(stat));
  if (!process) return "";
  std::string words = absl::StrCat(ToValidUtf8(process->name), " (", process->pid, ") ",
                                   StateWords(process->state));
  absl::ConsumeSuffix(&wchan, "\n");
  const bool waits = process->state == 'S' || process->state == 'D';
  if (waits && !wchan.empty() && wchan != "0") absl::StrAppend(&words, " in ", wchan);
  return words;
}

std::string ProcessWords(int64_t pid) {
  const std::string stat = ProcFile(pid, "stat");
  return stat.empty() ? "" : WordsOfStat(stat, ProcFile(pid, "wchan"));
}

}  // namespace hpc::worker
