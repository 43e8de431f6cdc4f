#include "client/cli/hints/script_check.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
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

// The commands of a line, each with the pipes between its parts: "a; b | c && d" has three. What is
// in quotes, or behind a "#", is not read.
std::vector<std::string> Commands(absl::string_view line) {
  std::vector<std::string> commands(1);
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
      continue;
    }
    if (c == '#' && (i == 0 || line[i - 1] == ' ')) break;
    const bool either = line.substr(i, 2) == "||";
    // "|&" and ">&" are no ends of a command.
    const bool background = c == '&' && (i == 0 || (line[i - 1] != '|' && line[i - 1] != '>'));
    if (c == '"' || c == '\'') {
      quote = c;
    } else if (either || background || c == ';' || c == '(' || c == ')' || c == '`') {
      commands.emplace_back();
      i += either ? 1 : 0;
    } else {
      commands.back() += c;
    }
  }
  return commands;
}

// Whether it trains, for all that can be seen: a Python with a script or a module, or a launcher.
bool MayTrain(absl::string_view part) {
  std::vector<std::string> words = absl::StrSplit(part, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  const auto program = std::find_if(words.begin(), words.end(), [](const std::string& word) {
    return !absl::StrContains(word, "=") && word != "time" && word != "nohup" && word != "exec" &&
           word != "env";
  });
  if (program == words.end()) return false;
  if (!LauncherIn({program, words.end()}).empty()) return true;
  if (!IsPython(FileName(*program))) return absl::EndsWith(*program, ".py");
  return std::any_of(std::next(program), words.end(), [](const std::string& word) {
    return absl::EndsWith(word, ".py") || word == "-m";
  });
}

bool IsTee(absl::string_view part) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(part, absl::ByAnyChar(" \t&"), absl::SkipEmpty());
  return !words.empty() && FileName(words.front()) == "tee";
}

bool PipesIntoTee(absl::string_view command) {
  const std::vector<absl::string_view> parts = absl::StrSplit(command, '|');
  return parts.size() > 1 && IsTee(parts.back()) &&
         std::any_of(parts.begin(), parts.end() - 1, MayTrain);
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
    const std::vector<std::string> commands = Commands(line);
    if (std::none_of(commands.begin(), commands.end(), PipesIntoTee)) continue;
    const std::string file = ScriptOf(spec.command());
    return absl::StrCat("the '| tee' in ", file.empty() ? "the command" : file,
                        " hides the exit code of what is in front of it, so a training that fails "
                        "ends as a success: put 'set -o pipefail' before it, which bash "
                        "understands; or leave tee out, since 'hpcctl logs' keeps the output");
  }
  return "";
}

std::string TrainerHint(const v1::RunSpec& spec, absl::string_view script) {
  const bool python = !spec.command().empty() && IsPython(FileName(spec.command(0)));
  if (spec.max_nodes() <= 1 || !python || absl::StrContains(script, "num_nodes") ||
      !MakesTrainer(script)) {
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
