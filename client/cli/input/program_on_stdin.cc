#include "client/cli/input/program_on_stdin.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/cli/input/interpreters.h"
#include "client/cli/input/usage_error.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace hpc::client {
namespace {

using Argv = std::vector<std::string>;

// The longest argument that Linux takes.
constexpr size_t kMaxProgram = (128 << 10) - 1;

// Where the program belongs among the words of a command, in place of "-" or "-s" if that is there.
struct Place {
  size_t options_end = 0;  // behind the interpreter's options, without the marker
  size_t arguments = 0;    // of the program's arguments
};

std::optional<Place> PlaceForPython(const Argv& command) {
  for (size_t i = 1; i < command.size(); ++i) {
    const std::string& word = command[i];
    if (word == "-") return Place{i, i + 1};
    if (!absl::StartsWith(word, "-")) return std::nullopt;  // a script
    // These print something and end.
    if (word == "-V" || word == "--version" || word == "-h" || word == "--help") {
      return std::nullopt;
    }
    if (absl::StartsWith(word, "-X") || absl::StartsWith(word, "-W")) {
      if (word.size() == 2) ++i;
    } else if (!absl::StartsWith(word, "--") && word.find_first_of("cm") != std::string::npos) {
      return std::nullopt;
    }
  }
  return Place{command.size(), command.size()};
}

std::optional<Place> PlaceForShell(const Argv& command) {
  for (size_t i = 1; i < command.size(); ++i) {
    const std::string& word = command[i];
    if (word == "-s" || word == "-") return Place{i, i + 1};
    if (word == "--version" || word == "--help") return std::nullopt;
    if (!absl::StartsWith(word, "-") && !absl::StartsWith(word, "+")) return std::nullopt;
    if (!absl::StartsWith(word, "--") && absl::StrContains(word, "c")) return std::nullopt;
    if (word == "-o" || word == "+o" || word == "-O" || word == "+O") ++i;
  }
  return Place{command.size(), command.size()};
}

std::optional<Place> PlaceIn(const Argv& command) {
  if (command.empty()) return std::nullopt;
  const absl::string_view name = FileName(command[0]);
  if (IsPython(name)) return PlaceForPython(command);
  return IsShell(name) ? PlaceForShell(command) : std::nullopt;
}

}  // namespace

bool ReadsProgram(const Argv& command) { return PlaceIn(command).has_value(); }

Argv WithProgram(const Argv& command, const std::string& program) {
  const Place place = *PlaceIn(command);
  Argv with(command.begin(), command.begin() + static_cast<std::ptrdiff_t>(place.options_end));
  with.insert(with.end(), {"-c", program});
  if (place.arguments == command.size()) return with;
  // A shell takes the first word behind the program as its own name.
  const absl::string_view name = FileName(command[0]);
  if (IsShell(name)) with.emplace_back(name);
  with.insert(with.end(), command.begin() + static_cast<std::ptrdiff_t>(place.arguments),
              command.end());
  return with;
}

absl::Status NoProgram(const Argv& command) {
  return UsageError(absl::StrCat(
      "'", command[0], "' has no program to run: name its script, as in ", "'hpcctl run -- ",
      command[0], " ", IsPython(FileName(command[0])) ? "train.py" : "train.sh", "'."));
}

absl::StatusOr<std::string> ReadProgram(const Argv& command, int fd) {
  struct stat info;
  // A character device is a terminal, or /dev/null.
  if (fstat(fd, &info) != 0 || S_ISCHR(info.st_mode)) return NoProgram(command);
  std::string program;
  char piece[16 << 10];
  while (true) {
    const ssize_t n = read(fd, piece, sizeof piece);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      return UsageError(absl::StrCat("standard input cannot be read (", strerror(errno), ")."));
    if (n == 0) break;
    program.append(piece, static_cast<size_t>(n));
    if (program.size() <= kMaxProgram) continue;
    return UsageError(absl::StrCat("the program on standard input is longer than ",
                                   HumanBytes(kMaxProgram + 1),
                                   ": put it into a file that every node has, and name that."));
  }
  if (program.empty()) return NoProgram(command);
  HPC_RETURN_IF_ERROR(AsUsageError(CheckText("the program on standard input", program)));
  return program;
}

bool HasInput(int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0) return false;
  if (S_ISREG(info.st_mode)) return lseek(fd, 0, SEEK_CUR) < info.st_size;
  int waiting = 0;
  return S_ISFIFO(info.st_mode) && ioctl(fd, FIONREAD, &waiting) == 0 && waiting > 0;
}

}  // namespace hpc::client
