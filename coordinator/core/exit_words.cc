#include "coordinator/core/exit_words.h"

#include <csignal>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/telling_line.h"

namespace hpc::coordinator {

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

}  // namespace hpc::coordinator
