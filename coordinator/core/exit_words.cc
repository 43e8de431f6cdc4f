#include "coordinator/core/exit_words.h"

#include <csignal>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace hpc::coordinator {
namespace {

// "[rank1]: ValueError: x" without what torch puts before each line of an uncaught exception.
absl::string_view WithoutRank(absl::string_view line) {
  const size_t colon = line.find("]: ");
  if (absl::StartsWith(line, "[rank") && colon != absl::string_view::npos) {
    line.remove_prefix(colon + 3);
  }
  return line;
}

// "ValueError: bad shape", "torch.cuda.OutOfMemoryError: ...": how Python ends a traceback.
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

std::string SignalName(int32_t signal) {
  switch (signal) {
    case SIGHUP:
      return "SIGHUP";
    case SIGINT:
      return "SIGINT";
    case SIGQUIT:
      return "SIGQUIT";
    case SIGILL:
      return "SIGILL";
    case SIGTRAP:
      return "SIGTRAP";
    case SIGABRT:
      return "SIGABRT";
    case SIGBUS:
      return "SIGBUS";
    case SIGFPE:
      return "SIGFPE";
    case SIGKILL:
      return "SIGKILL";
    case SIGUSR1:
      return "SIGUSR1";
    case SIGSEGV:
      return "SIGSEGV";
    case SIGUSR2:
      return "SIGUSR2";
    case SIGPIPE:
      return "SIGPIPE";
    case SIGALRM:
      return "SIGALRM";
    case SIGTERM:
      return "SIGTERM";
    case SIGXCPU:
      return "SIGXCPU";
    case SIGXFSZ:
      return "SIGXFSZ";
    case SIGSYS:
      return "SIGSYS";
    default:
      return absl::StrCat("signal ", signal);
  }
}

std::string ExitWords(const RankExit& exit) {
  std::string words = exit.signal.has_value()
                          ? absl::StrCat("was killed by ", SignalName(*exit.signal))
                          : absl::StrCat("exited with code ", exit.exit_code.value_or(0));
  const absl::string_view line = TellingLine(exit.message);
  if (!line.empty()) absl::StrAppend(&words, ": ", line);
  return words;
}

int32_t ShellCode(const RankExit& exit) {
  return exit.signal.has_value() ? 128 + *exit.signal : exit.exit_code.value_or(0);
}

absl::string_view TellingLine(absl::string_view text) {
  absl::string_view last, exception;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = WithoutRank(absl::StripAsciiWhitespace(line));
    if (line.empty()) continue;
    last = line;
    if (NamesAnException(line)) exception = line;
  }
  return exception.empty() ? last : exception;
}

}  // namespace hpc::coordinator
