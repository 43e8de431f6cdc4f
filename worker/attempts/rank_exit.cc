#include "worker/attempts/rank_exit.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/signal_name.h"
#include "common/telling_line.h"
#include "common/text.h"
#include "worker/attempts/python_traceback.h"
#include "worker/attempts/rank_report.h"
#include "worker/core/rank_environment.h"
#include "worker/supervisor_client/foreign_file.h"

namespace hpc::worker {
namespace {

// An uncaught exception ends Python with 1, or with SIGABRT if threads of a library cannot cope
// with that end. With any other end, a traceback in stderr belongs to an exception that was caught
// and printed.
bool EndsAsOfAnException(const protocol::RankExit& exit) {
  return exit.exit_code == 1 || exit.signal == SIGABRT;
}

// Whether the rank had failed before SIGTERM ended it: the last that it said is a traceback. Python
// prints that first, and then may have much to do, such as the upload of a tracker.
bool WasEnding(const protocol::RankExit& exit, absl::string_view said) {
  if (!exit.after_stop || exit.signal != SIGTERM) return false;
  const auto report = FindTraceback(said);
  if (!report) return false;
  const std::string last_line = report->traceback.substr(report->traceback.rfind('\n') + 1);
  return absl::EndsWith(absl::StripTrailingAsciiWhitespace(said), last_line);
}

constexpr absl::string_view kFailedProcess = "] failed (exitcode: ";

// A launcher ends with an exception of its own if one of its processes has failed. torch's says
// before that which. What the process said itself stands before all that.
absl::string_view BeforeLauncher(absl::string_view said) {
  const size_t line = said.rfind(kFailedProcess);
  if (line != absl::string_view::npos) return said.substr(0, said.rfind('\n', line) + 1);
  const size_t traceback = said.rfind(kTracebackHeader);
  return traceback == absl::string_view::npos ? "" : said.substr(0, traceback);
}

// How torch's launcher says that its process ended: with an exit code, or with -N after signal N.
// nullopt: it does not.
std::optional<int> EndOfItsProcess(absl::string_view said) {
  const size_t line = said.rfind(kFailedProcess);
  if (line == absl::string_view::npos) return std::nullopt;
  const absl::string_view rest = said.substr(line + kFailedProcess.size());
  int end = 0;
  if (!absl::SimpleAtoi(rest.substr(0, rest.find(')')), &end)) return std::nullopt;
  return end;
}

// Whether the signal ends a process that could say nothing of it. Before SIGABRT it mostly has.
bool EndsWithoutWords(int signal) {
  return signal == SIGKILL || signal == SIGSEGV || signal == SIGBUS || signal == SIGILL ||
         signal == SIGFPE;
}

// What the process of a launcher said of its failure, or how it ended if it said nothing.
std::string WordsOfItsProcess(absl::string_view said) {
  const std::optional<int> end = EndOfItsProcess(said);
  if (end && EndsWithoutWords(-*end)) {
    return absl::StrCat("its process was killed by ", SignalName(-*end));
  }
  const std::string words = LastLines(BeforeLauncher(said), kLastLines, kMaxWords);
  // SIGTERM is how this PC itself tells its processes to end.
  if (!end || *end == 0 || *end == -SIGTERM || !TellingLine(words).empty()) return words;
  return *end < 0 ? absl::StrCat("its process was killed by ", SignalName(-*end))
                  : absl::StrCat("its process exited with code ", *end);
}

int64_t MemoryOfThisPcKb() { return sysconf(_SC_PHYS_PAGES) * (sysconf(_SC_PAGESIZE) / 1024); }

}  // namespace

std::string MemoryWords(int64_t peak_kb, int64_t there_kb) {
  if (peak_kb < there_kb / 4) return "";
  const auto words = [](int64_t kb) { return HumanBytes(static_cast<uint64_t>(kb) * 1024); };
  return absl::StrCat("perhaps out of memory: it had ", words(peak_kb), " of ", words(there_kb));
}

protocol::RankExit ToRankExit(const RankExited& event) {
  protocol::RankExit exit;
  if (WIFSIGNALED(event.wait_status)) {
    exit.signal = WTERMSIG(event.wait_status);
  } else {
    exit.exit_code = WEXITSTATUS(event.wait_status);
  }
  exit.after_stop = event.after_stop;
  if (exit.signal == SIGKILL && !exit.after_stop) {
    exit.message = MemoryWords(event.max_rss_kb, MemoryOfThisPcKb());
  }
  return exit;
}

protocol::RankExit ToRankExit(const RankStartFailed& event) {
  protocol::RankExit exit;
  exit.exit_code = event.error == ENOENT ? 127 : 126;
  exit.message = absl::StrCat(event.what, ": ", strerror(event.error));
  return exit;
}

bool ExplainByErrorFile(const std::string& attempt_dir, int32_t rank, protocol::RankExit* exit) {
  const auto report = ReadErrorFile(attempt_dir, rank);
  if (!report) return false;
  exit->message = report->message;
  exit->traceback = report->traceback;
  return true;
}

void ExplainExit(const std::string& attempt_dir, int32_t rank, protocol::RankExit* exit) {
  if (exit->exit_code == 0 || !exit->message.empty()) return;
  if (ExplainByErrorFile(attempt_dir, rank, exit)) return;
  const std::string said = ReadStderrEnd(attempt_dir, rank);
  const auto report =
      EndsAsOfAnException(*exit) || WasEnding(*exit, said) ? FindTraceback(said) : std::nullopt;
  exit->message = report ? report->message : LastLines(said, kLastLines, kMaxWords);
  if (report) exit->traceback = report->traceback;
  if (const std::string words = WordsOfItsProcess(said);
      IsOfLauncher(exit->message) && !words.empty()) {
    exit->message = words;
  }
  const int64_t size = ForeignFileSize(ErrorFile(attempt_dir, rank));
  if (exit->message.empty() && size > static_cast<int64_t>(kMaxErrorFile)) {
    exit->message = absl::StrCat("its error file has ", size, " bytes, more than the ",
                                 kMaxErrorFile, " that are read");
  }
}

void DateWords(const std::string& attempt_dir, int32_t rank, absl::Time ended_at,
               protocol::RankExit* exit) {
  if (exit->traceback.empty() || exit->after_stop) return;
  absl::Time written = ForeignFileWritten(ErrorFile(attempt_dir, rank));
  if (written == absl::InfinitePast()) {
    written = ForeignFileWritten(OutputFile(attempt_dir, rank, true));
  }
  const absl::Duration before = ended_at - written;
  if (before > absl::ZeroDuration() && before <= protocol::kLongestEnding)
    exit->words_before_end = before;
}

}  // namespace hpc::worker
