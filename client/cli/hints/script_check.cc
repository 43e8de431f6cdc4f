#include "client/cli/hints/script_check.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "client/cli/input/interpreters.h"
#include "client/cli/input/launcher_check.h"
#include "client/cli/input/shell_text.h"

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

// Whether it trains, for all that can be seen: a Python with a script or a module, or a launcher.
bool MayTrain(absl::Span<const std::string> command) {
  for (int front = WordsInFront(command); front > 0; front = WordsInFront(command)) {
    command = command.subspan(std::min(static_cast<size_t>(front), command.size()));
  }
  if (command.empty()) return false;
  constexpr size_t kMost = 64;  // of the words by which a launcher is known
  const auto first = command.first(std::min(kMost, command.size()));
  if (!LauncherIn({first.begin(), first.end()}).empty()) return true;
  if (!IsPython(FileName(command[0]))) return absl::EndsWith(command[0], ".py");
  return std::any_of(command.begin() + 1, command.end(), [](const std::string& word) {
    return absl::EndsWith(word, ".py") || word == "-m";
  });
}

bool PipesIntoTee(const std::vector<std::vector<std::string>>& pipe) {
  const std::vector<std::string>& last = pipe.back();
  return pipe.size() > 1 && !last.empty() && FileName(last[0]) == "tee" &&
         std::any_of(pipe.begin(), pipe.end() - 1,
                     [](const auto& command) { return MayTrain(command); });
}

bool IsOfAName(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// The name, with its dots, that ends where the text does: "pl" of "x = pl".
absl::string_view NameAtEnd(absl::string_view text) {
  size_t begin = text.size();
  while (begin > 0 && (IsOfAName(text[begin - 1]) || text[begin - 1] == '.')) --begin;
  return text.substr(begin);
}

// Whether a line of the script imports Lightning's Trainer by that name.
bool ImportsTrainer(absl::string_view script) {
  for (const absl::string_view line : absl::StrSplit(script, '\n')) {
    if ((absl::StartsWith(line, "from lightning") ||
         absl::StartsWith(line, "from pytorch_lightning")) &&
        !absl::StrContains(line, "lightning_utilities") && absl::StrContains(line, "Trainer")) {
      return true;
    }
  }
  return false;
}

// Whether the script calls Lightning's Trainer, with arguments that can all be read.
bool MakesTrainer(absl::string_view script) {
  constexpr absl::string_view kCall = "Trainer(";
  const bool imported = ImportsTrainer(script);
  bool makes = false;
  for (const absl::string_view line : absl::StrSplit(script, '\n')) {
    if (absl::StartsWith(absl::StripLeadingAsciiWhitespace(line), "#")) continue;
    const size_t at = line.find(kCall);
    if (at == absl::string_view::npos) continue;
    if (absl::StrContains(line.substr(at), "**")) return false;
    const absl::string_view before = NameAtEnd(line.substr(0, at));
    makes |= before.empty() ? imported && !absl::StrContains(line.substr(0, at), "class ")
                            : before == "L." || before == "pl." || before == "lightning." ||
                                  before == "lightning.pytorch." || before == "pytorch_lightning.";
  }
  return makes;
}

const char* NodesVariable(v1::LaunchMode mode) {
  if (mode == v1::LAUNCH_MODE_SLURM) return "SLURM_NNODES";
  return mode == v1::LAUNCH_MODE_PER_NODE ? "NNODES" : "GROUP_WORLD_SIZE";
}

}  // namespace

std::string PipeHint(const v1::RunSpec& spec, absl::string_view script) {
  const std::string text = ShellTextOf(spec.command(), script);
  const absl::string_view first_line = absl::string_view(text).substr(0, text.find('\n'));
  const bool other_shell =
      absl::StartsWith(first_line, "#!") &&
      (absl::StrContains(first_line, "fish") || absl::StrContains(first_line, "csh"));
  if (other_shell || LooksAtPipes(spec.command(), text)) return "";
  for (const std::string& line : ShellLines(text)) {
    const auto pipes = ShellPipes(line);
    if (std::none_of(pipes.begin(), pipes.end(), PipesIntoTee)) continue;
    const std::string file = ScriptOf(spec.command());
    return absl::StrCat("the '| tee' in ", file.empty() ? "the command" : file,
                        " hides the exit code of what is in front of it, so a training that fails "
                        "ends as a success: put 'set -o pipefail' before it, which bash "
                        "understands; or leave tee out, since 'hpcctl logs' keeps the output");
  }
  return "";
}

bool StartsProgramsInTurn(const v1::RunSpec& spec, absl::string_view script) {
  int programs = 0;
  for (const std::string& line : ShellLines(ShellTextOf(spec.command(), script))) {
    for (const auto& command : ShellCommands(line)) programs += MayTrain(command) ? 1 : 0;
  }
  return programs > 1;
}

std::string TrainerHint(const v1::RunSpec& spec, absl::string_view script) {
  const bool python = !spec.command().empty() && IsPython(FileName(spec.command(0)));
  if (spec.max_nodes() <= 1 || !python || absl::StrContains(script, "num_nodes") ||
      !absl::StrContains(script, "lightning") || !MakesTrainer(script)) {
    return "";
  }
  const std::string nodes =
      spec.min_nodes() == spec.max_nodes()
          ? absl::StrCat(spec.max_nodes())
          : absl::StrCat("int(os.environ['", NodesVariable(spec.mode()), "'])");
  return absl::StrCat("the Trainer in ", ScriptOf(spec.command()),
                      " is not told how many nodes there are, and takes one for granted: give it "
                      "num_nodes=",
                      nodes);
}

}  // namespace hpc::client
