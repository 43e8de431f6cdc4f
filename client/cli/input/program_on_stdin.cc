#include "client/cli/input/program_on_stdin.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "client/cli/input/interpreters.h"
#include "client/cli/input/usage_error.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace hpc::client {
namespace {

using Argv = std::vector<std::string>;

// The longest argument that Linux takes.
constexpr size_t kMaxProgram = (128 << 10) - 1;

// A command without the program that its interpreter reads.
struct Reader {
  Argv front;         // what starts the interpreter, the interpreter and its options
  std::string shell;  // its name, if it is a shell: the program's name there
  Argv arguments;     // of the program
};

// Nothing is said to be run: "python", "python -u -".
std::optional<Reader> ReaderOfPython(const Argv& command, size_t at) {
  Reader reader{.front = {command.begin(), command.begin() + static_cast<ptrdiff_t>(at) + 1}};
  for (size_t i = at + 1; i < command.size(); ++i) {
    const std::string& word = command[i];
    if (word == "-") {
      reader.arguments.assign(command.begin() + static_cast<ptrdiff_t>(i) + 1, command.end());
      return reader;
    }
    if (!absl::StartsWith(word, "-")) return std::nullopt;  // a script
    // These print something and end.
    if (word == "-V" || word == "--version" || word == "-h" || word == "--help") {
      return std::nullopt;
    }
    reader.front.push_back(word);
    if (absl::StartsWith(word, "-X") || absl::StartsWith(word, "-W")) {
      if (word.size() == 2 && i + 1 < command.size()) reader.front.push_back(command[++i]);
    } else if (!absl::StartsWith(word, "--") && word.find_first_of("cm") != std::string::npos) {
      return std::nullopt;
    }
  }
  return reader;
}

// A shell reads its program if it is not told what to run, or has -s among its options; what is
// behind those are arguments then. "--" and "-" end them.
std::optional<Reader> ReaderOfShell(const Argv& command, size_t at) {
  Reader reader{.front = {command.begin(), command.begin() + static_cast<ptrdiff_t>(at) + 1},
                .shell = std::string(FileName(command[at]))};
  bool reads = false, ended = false;
  size_t i = at + 1;
  for (; i < command.size() && !ended; ++i) {
    std::string word = command[i];
    if (word == "--version" || word == "--help") return std::nullopt;
    if (word.empty() || (word[0] != '-' && word[0] != '+')) break;
    ended = word == "--" || word == "-";
    if (ended) continue;
    if (absl::StartsWith(word, "--")) {
      reader.front.push_back(word);
      continue;
    }
    if (word[0] == '-' && absl::StrContains(word, "c")) return std::nullopt;
    const bool takes_word = absl::EndsWith(word, "o") || absl::EndsWith(word, "O");
    if (word[0] == '-') {
      reads |= absl::StrContains(word, "s");
      word.erase(std::remove(word.begin() + 1, word.end(), 's'), word.end());
    }
    if (word.size() > 1) reader.front.push_back(word);
    if (takes_word && i + 1 < command.size()) reader.front.push_back(command[++i]);
  }
  if (i < command.size() && !reads) return std::nullopt;  // a script
  reader.arguments.assign(command.begin() + static_cast<ptrdiff_t>(i), command.end());
  return reader;
}

// Where the interpreter stands: behind "env A=1", "timeout 60", "nice".
size_t PlaceOfProgram(const Argv& command) {
  size_t at = 0;
  while (at < command.size()) {
    const int front = WordsInFront(absl::MakeConstSpan(command).subspan(at));
    if (front == 0) break;
    at += static_cast<size_t>(front);
  }
  return at;
}

std::optional<Reader> ReaderIn(const Argv& command) {
  const size_t at = PlaceOfProgram(command);
  if (at >= command.size()) return std::nullopt;
  const absl::string_view name = FileName(command[at]);
  if (IsPython(name)) return ReaderOfPython(command, at);
  return IsShell(name) ? ReaderOfShell(command, at) : std::nullopt;
}

}  // namespace

bool ReadsProgram(const Argv& command) { return ReaderIn(command).has_value(); }

std::string WordThatReadsInput(const Argv& command) {
  for (size_t i = 0; i < command.size(); ++i) {
    if (command[i] == "/dev/stdin") return command[i];
    if (i + 1 == command.size()) continue;
    const absl::string_view name = FileName(command[i]);
    if ((IsPython(name) && command[i + 1] == "-") || (IsShell(name) && command[i + 1] == "-s")) {
      return absl::StrCat(command[i], " ", command[i + 1]);
    }
  }
  return "";
}

Argv WithProgram(const Argv& command, const std::string& program) {
  Reader reader = *ReaderIn(command);
  Argv with = std::move(reader.front);
  with.insert(with.end(), {"-c", program});
  if (reader.arguments.empty()) return with;
  // A shell takes the first word behind the program as its own name.
  if (!reader.shell.empty()) with.push_back(reader.shell);
  with.insert(with.end(), reader.arguments.begin(), reader.arguments.end());
  return with;
}

absl::Status NoProgram(const Argv& command) {
  const std::string& program = command[PlaceOfProgram(command)];
  return UsageError(absl::StrCat("'", program, "' has no program to run: name its script, as in ",
                                 "'hpcctl run -- ", program, " ",
                                 IsPython(FileName(program)) ? "train.py" : "train.sh", "'."));
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

bool IsFed(int fd) {
  struct stat info;
  return fstat(fd, &info) == 0 && !S_ISCHR(info.st_mode);
}

bool HasInput(int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0) return false;
  if (S_ISREG(info.st_mode)) return lseek(fd, 0, SEEK_CUR) < info.st_size;
  int waiting = 0;
  return S_ISFIFO(info.st_mode) && ioctl(fd, FIONREAD, &waiting) == 0 && waiting > 0;
}

}  // namespace hpc::client
