#include "client/cli/input/shell_words.h"

#include <algorithm>
#include <array>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "client/cli/input/shell_text.h"
#include "client/cli/input/usage_error.h"

namespace hpc::client {
namespace {

// Words that a shell carries out itself, and that no program has the name of.
constexpr std::array kBuiltins = {".",      "alias", "cd",    "eval",  "exec",   "export",
                                  "for",    "if",    "set",   "shopt", "source", "trap",
                                  "ulimit", "umask", "unset", "until", "while"};

bool IsBuiltin(absl::string_view word) {
  return std::find(kBuiltins.begin(), kBuiltins.end(), word) != kBuiltins.end();
}

absl::string_view FirstWord(absl::string_view line) { return line.substr(0, line.find(' ')); }

// One word that holds a whole line for a shell. The name of a program may have a space, too.
bool IsLine(absl::string_view word) {
  if (!absl::StrContains(word, " ")) return false;
  return word.find_first_of(";|&<>$`") != absl::string_view::npos || IsBuiltin(FirstWord(word)) ||
         IsAssignment(FirstWord(word));
}

// As a word that a shell reads as `text`.
std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

absl::Status SaySetsVariable(const std::vector<std::string>& command) {
  const auto program = std::find_if_not(command.begin(), command.end(), IsAssignment);
  std::string typed = "hpcctl run";
  for (auto it = command.begin(); it != program; ++it) absl::StrAppend(&typed, " --env ", *it);
  absl::StrAppend(
      &typed, " -- ",
      program == command.end() ? "python train.py" : absl::StrJoin(program, command.end(), " "));
  return UsageError(absl::StrCat("'", command[0],
                                 "' sets a variable only in a shell, and ranks are ",
                                 "started without one. Type '", typed, "'."));
}

}  // namespace

absl::Status CheckShellWords(const std::vector<std::string>& command) {
  if (command.empty()) return absl::OkStatus();
  const std::string& first = command[0];
  if (IsLine(first)) {
    return UsageError(
        absl::StrCat("the command is a line for a shell, and ranks are started without ",
                     "one. Type: hpcctl run -- bash -c ", Quoted(first)));
  }
  if (IsAssignment(first)) return SaySetsVariable(command);
  if (IsBuiltin(first)) {
    return UsageError(absl::StrCat(
        "'", first, "' is a word of the shell's and no program, and ranks are started without a ",
        "shell. Type: hpcctl run -- bash -c ", Quoted(absl::StrJoin(command, " ") + " && ..."),
        first == "cd" ? ", or name the directory with --workdir" : ""));
  }
  if (absl::StartsWith(first, "~")) {
    return UsageError(absl::StrCat("'", first, "' begins with a '~' that no shell has replaced: ",
                                   "type it without quotes, or name the whole path."));
  }
  return absl::OkStatus();
}

}  // namespace hpc::client
