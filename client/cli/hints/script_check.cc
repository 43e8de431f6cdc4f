#include "client/cli/hints/script_check.h"

#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/input/interpreters.h"
#include "client/cli/input/launcher_check.h"
#include "client/cli/input/shell_words.h"

namespace hpc::client {
namespace {

// The text may look at the exit codes of a pipe itself.
constexpr std::array kLooksAtPipes = {"pipefail", "PIPESTATUS", "pipestatus"};

bool LooksAtPipes(const CommandWords& command, absl::string_view text) {
  return std::any_of(kLooksAtPipes.begin(), kLooksAtPipes.end(), [&](const char* word) {
    return absl::StrContains(text, word) ||
           std::any_of(command.begin(), command.end(),
                       [&](const std::string& typed) { return absl::StrContains(typed, word); });
  });
}

bool StartsPython(absl::string_view commands) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(commands, absl::ByAnyChar(" \t;&()\"'"), absl::SkipEmpty());
  return std::any_of(words.begin(), words.end(),
                     [](absl::string_view word) { return IsPython(FileName(word)); }) ||
         !LauncherInShellText(commands).empty();
}

bool PipesIntoTee(absl::string_view line) {
  const size_t bar = line.find('|');
  if (bar == absl::string_view::npos) return false;
  absl::string_view behind = line.substr(bar + 1);
  behind.remove_prefix(std::min(behind.find_first_not_of(" \t&"), behind.size()));
  return FileName(behind.substr(0, behind.find_first_of(" \t"))) == "tee" &&
         StartsPython(line.substr(0, bar));
}

}  // namespace

std::string PipeHint(const v1::RunSpec& spec, absl::string_view script) {
  const std::string text = ShellTextOf(spec.command(), script);
  if (LooksAtPipes(spec.command(), text)) return "";
  for (const std::string& line : ShellLines(text)) {
    if (!PipesIntoTee(line)) continue;
    const std::string file = ScriptOf(spec.command());
    return absl::StrCat("the '| tee' in ", file.empty() ? "the command" : file,
                        " hides the exit code of what is in front of it, so a training that fails "
                        "ends as a success: put 'set -o pipefail' before it, which bash "
                        "understands; or leave tee out, since 'hpcctl logs' keeps the output");
  }
  return "";
}

std::string TrainerHint(const v1::RunSpec& spec, absl::string_view script) {
  const bool lightning = absl::StrContains(script, "import lightning") ||
                         absl::StrContains(script, "from lightning") ||
                         absl::StrContains(script, "pytorch_lightning");
  const bool python = !spec.command().empty() && IsPython(FileName(spec.command(0)));
  if (spec.max_nodes() <= 1 || !python || !lightning || !absl::StrContains(script, "Trainer(") ||
      absl::StrContains(script, "num_nodes")) {
    return "";
  }
  const std::string nodes = spec.min_nodes() == spec.max_nodes()
                                ? absl::StrCat(spec.max_nodes())
                                : "int(os.environ['GROUP_WORLD_SIZE'])";
  return absl::StrCat("the Trainer in ", ScriptOf(spec.command()),
                      " is not told how many nodes there are, and takes one for granted: give it "
                      "num_nodes=",
                      nodes);
}

}  // namespace hpc::client
