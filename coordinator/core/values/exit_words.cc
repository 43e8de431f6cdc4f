#include "coordinator/core/values/exit_words.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/signal_name.h"
#include "common/telling_line.h"

namespace hpc::coordinator {

std::string ExitWords(const protocol::RankExit& exit) {
  std::string words = exit.signal.has_value()
                          ? absl::StrCat("was killed by ", SignalName(*exit.signal))
                          : absl::StrCat("exited with code ", exit.exit_code.value_or(0));
  // What the rank last wrote to stderr has nothing to do with a signal that we sent.
  if (exit.after_stop && exit.signal.has_value()) return words;
  const absl::string_view line = TellingLine(exit.message);
  if (!line.empty()) absl::StrAppend(&words, ": ", line);
  return words;
}

int32_t ShellCode(const protocol::RankExit& exit) {
  return exit.signal.has_value() ? 128 + *exit.signal : exit.exit_code.value_or(0);
}

bool SucceededByItself(const protocol::RankExit& exit) {
  return exit.exit_code == 0 && !exit.signal.has_value() && !exit.after_stop;
}

}  // namespace hpc::coordinator
