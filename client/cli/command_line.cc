#include "client/cli/command_line.h"

#include <algorithm>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/command.h"
#include "client/cli/exit_codes.h"
#include "client/cli/input/usage_error.h"
#include "common/status_macros.h"

namespace hpc::client {
namespace {

using Words = std::vector<std::string>;

// Returns the first words of all commands.
std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const CommandInfo& info : AllCommands()) {
    const std::string name = info.name;
    const std::string first = name.substr(0, name.find(' '));
    if (names.empty() || names.back() != first) names.push_back(first);
  }
  return names;
}

const CommandInfo* Exactly(const std::string& name) {
  for (const CommandInfo& info : AllCommands()) {
    if (name == info.name) return &info;
  }
  return nullptr;
}

// Returns the commands of two words that begin with `first`: "token create", "token list" ...
std::vector<const CommandInfo*> Family(const std::string& first) {
  std::vector<const CommandInfo*> family;
  for (const CommandInfo& info : AllCommands()) {
    if (absl::StartsWith(info.name, first + " ")) family.push_back(&info);
  }
  return family;
}

// Makes the error for a `first` that begins commands of two words, when `second` is missing or is
// no second word of them.
absl::Status WhichOf(const std::string& first, const std::string& second) {
  Words seconds;
  for (const CommandInfo* info : Family(first)) {
    seconds.emplace_back(info->name + first.size() + 1);
  }
  if (second.empty()) return usage::SecondWordMissing(first, seconds);
  return usage::UnknownSecondWord(first, second, seconds);
}

// Finds the command, of one word or two, that the words from `at` on name.
absl::StatusOr<const CommandInfo*> Find(const Words& words, size_t at) {
  const std::string& first = words[at];
  if (const CommandInfo* info = Exactly(first)) return info;
  if (Family(first).empty()) return usage::UnknownCommand(first, Names());
  const bool has_second = at + 1 < words.size() && !absl::StartsWith(words[at + 1], "-");
  const std::string second = has_second ? words[at + 1] : "";
  if (const CommandInfo* info = Exactly(absl::StrCat(first, " ", second))) return info;
  return WhichOf(first, second);
}

size_t WordsOf(const CommandInfo& info) { return absl::StrContains(info.name, " ") ? 2 : 1; }

std::string Line(const CommandInfo& info) {
  std::string name = info.name;
  name.resize(std::max<size_t>(19, name.size() + 1), ' ');
  return absl::StrCat("  ", name, info.summary, "\n");
}

std::string HelpOfFamily(const std::string& first) {
  std::string out = absl::StrCat("Usage: hpcctl ", first, " COMMAND [options]\n\n");
  for (const CommandInfo* info : Family(first)) absl::StrAppend(&out, Line(*info));
  return absl::StrCat(out, "\n'hpcctl ", first, " COMMAND --help' shows what it takes.\n");
}

bool AsksForHelp(const Words& words) {
  return !words.empty() && (words[0] == "--help" || words[0] == "-h");
}

void DeclareGlobal(Options* options, GlobalOptions* global) {
  options->Group("Options of every command");
  options->Word("--coordinator", "ADDR", &global->coordinator,
                "unix:PATH or ADDR:PORT (default: HPC_COORDINATOR)");
  options->Flag("--insecure", &global->insecure,
                "speak plain text to a coordinator on this machine's loopback");
}

// Returns the index of the command's name, which stands after the global options. If there is none,
// returns words.size().
size_t CommandAt(const Words& words) {
  size_t at = 0;
  while (at < words.size() && absl::StartsWith(words[at], "-") && words[at].size() > 1) {
    at += words[at] == "--coordinator" ? 2 : 1;
  }
  return std::min(at, words.size());
}

absl::StatusOr<int> ShowHelp(const std::string& text, Session* session) {
  session->out().Write(text);
  return kExitOk;
}

absl::StatusOr<int> Dispatch(const Words& words, Session* session) {
  const size_t at = CommandAt(words);
  Options leading("", "");
  bool version = false;
  DeclareGlobal(&leading, &session->global());
  leading.Flag("--version", &version, "");
  HPC_RETURN_IF_ERROR(leading.Parse(Words(words.begin(), words.begin() + static_cast<long>(at))));
  Words rest = {version ? "version" : "help"};
  if (!version && !leading.help_wanted() && at < words.size()) {
    rest.assign(words.begin() + static_cast<long>(at), words.end());
  }
  if (!Family(rest[0]).empty() && AsksForHelp({rest.begin() + 1, rest.end()})) {
    return ShowHelp(HelpOfFamily(rest[0]), session);
  }
  HPC_ASSIGN_OR_RETURN(const CommandInfo* info, Find(rest, 0));
  rest.erase(rest.begin(), rest.begin() + static_cast<long>(WordsOf(*info)));
  const std::unique_ptr<Command> command = info->make();
  Options options(info->name, info->summary);
  command->Declare(&options);
  DeclareGlobal(&options, &session->global());
  HPC_RETURN_IF_ERROR(options.Parse(rest));
  if (options.help_wanted()) return ShowHelp(options.Help(), session);
  return command->Run(session);
}

}  // namespace

absl::StatusOr<std::string> HelpOf(const Words& command) {
  if (command.size() == 1 && !Family(command[0]).empty()) return HelpOfFamily(command[0]);
  HPC_ASSIGN_OR_RETURN(const CommandInfo* info, Find(command, 0));
  const std::unique_ptr<Command> made = info->make();
  Options options(info->name, info->summary);
  GlobalOptions global;
  made->Declare(&options);
  DeclareGlobal(&options, &global);
  return options.Help();
}

std::string Overview() {
  std::string out =
      "hpcctl runs training on the GPU PCs of a household or a lab, and gives each PC back to its\n"
      "owner the moment it is wanted.\n\nUsage: hpcctl COMMAND [options]\n";
  std::string group;
  for (const CommandInfo& info : AllCommands()) {
    if (group != info.group) absl::StrAppend(&out, "\n", info.group, ":\n");
    group = info.group;
    absl::StrAppend(&out, Line(info));
  }
  absl::StrAppend(&out,
                  "\n'hpcctl COMMAND --help' shows what a command takes. Try:\n"
                  "  hpcctl nodes\n"
                  "  hpcctl run -N 2 -- python train.py\n");
  return out;
}

int RunCommandLine(const Words& words, Session* session) {
  const absl::StatusOr<int> code = Dispatch(words, session);
  session->progress().Clear();
  session->out().Flush();
  if (code.ok()) session->KeepMembership();
  if (!code.ok()) session->Notice(absl::string_view(code.status().message()));
  session->err().Flush();
  // Who leaves does not wait for the rest.
  const bool left = code.ok() && *code == kExitDetached;
  if (!session->out().status().ok() && !left) {
    session->Notice(absl::string_view(session->out().status().message()));
    return kExitOutput;
  }
  return code.ok() ? *code : ExitCodeOf(code.status());
}

}  // namespace hpc::client
