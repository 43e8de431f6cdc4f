#include "client/cli/input/interpreters.h"

#include <algorithm>
#include <array>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace hpc::client {
namespace {

constexpr std::array kShells = {"sh", "bash", "dash", "zsh", "ksh"};

// Programs that start the command behind them.
constexpr std::array kStarters = {"env",    "nice",    "nohup",  "time",    "stdbuf", "exec",
                                  "setsid", "timeout", "ionice", "taskset", "numactl"};
// Those that do so with "run".
constexpr std::array kRunners = {"uv", "poetry", "conda", "pipenv"};
// Options of theirs that take a word of their own.
constexpr std::array kTakeAWord = {"-n", "-p", "--name", "-k", "-s",     "--signal", "-c",
                                   "-N", "-m", "-C",     "-u", "--with", "--python"};

template <typename Names>
bool IsIn(const Names& names, absl::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

absl::string_view FileName(absl::string_view path) { return path.substr(path.rfind('/') + 1); }

bool IsPython(absl::string_view name) {
  return absl::ConsumePrefix(&name, "python") &&
         name.find_first_not_of("0123456789.") == absl::string_view::npos;
}

bool IsShell(absl::string_view name) {
  return std::find(kShells.begin(), kShells.end(), name) != kShells.end();
}

int WordsInFront(absl::Span<const std::string> command) {
  if (command.empty()) return 0;
  const absl::string_view program = FileName(command[0]);
  const int size = static_cast<int>(command.size());
  int i = 1;
  if (IsIn(kRunners, program) && size > 1 && command[1] == "run") {
    i = 2;
  } else if (!IsIn(kStarters, program)) {
    return 0;
  }
  // Nothing else with "=" is a command.
  while (i < size && (absl::StartsWith(command[i], "-") || absl::StrContains(command[i], "="))) {
    i += IsIn(kTakeAWord, command[i]) ? 2 : 1;
  }
  // The time, or the cores, stand in front of the command.
  return program == "timeout" || program == "taskset" ? i + 1 : i;
}

}  // namespace hpc::client
