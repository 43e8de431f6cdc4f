#include "client/cli/command_line.h"

#include <algorithm>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/command.h"
#include "client/cli/exit_codes.h"
#include "client/cli/usage_error.h"
#include "common/status_macros.h"

namespace hpc::client {
namespace {

using Words = std::vector<std::string>;

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const CommandInfo& info : AllCommands()) names.emplace_back(info.name);
  return names;
}

absl::StatusOr<const CommandInfo*> Find(const std::string& name) {
  for (const CommandInfo& info : AllCommands()) {
    if (name == info.name) return &info;
  }
  return usage::UnknownCommand(name, Names());
}

void DeclareGlobal(Options* options, GlobalOptions* global) {
  options->Group("Options of every command");
  options->Text("--coordinator", "ADDR", &global->coordinator,
                "unix:PATH or ADDR:PORT (default: HPC_COORDINATOR)");
  options->Flag("--insecure", &global->insecure, "accept plain text over the network");
}

// Where the command's name is: behind options of every command. words.size(): nowhere.
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
  std::string name = version ? "version" : "help";
  Words rest;
  if (!version && !leading.help_wanted() && at < words.size()) {
    name = words[at];
    rest.assign(words.begin() + static_cast<long>(at) + 1, words.end());
  }
  HPC_ASSIGN_OR_RETURN(const CommandInfo* info, Find(name));
  const std::unique_ptr<Command> command = info->make();
  Options options(info->name, info->summary);
  command->Declare(&options);
  DeclareGlobal(&options, &session->global());
  HPC_RETURN_IF_ERROR(options.Parse(rest));
  if (options.help_wanted()) return ShowHelp(options.Help(), session);
  return command->Run(session);
}

}  // namespace

absl::StatusOr<std::string> HelpOf(const std::string& command) {
  HPC_ASSIGN_OR_RETURN(const CommandInfo* info, Find(command));
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
    std::string name = info.name;
    name.resize(12, ' ');
    absl::StrAppend(&out, "  ", name, info.summary, "\n");
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
  if (!code.ok()) session->Notice(absl::string_view(code.status().message()));
  session->err().Flush();
  if (!session->out().status().ok()) {
    session->Notice(absl::string_view(session->out().status().message()));
    return kExitOutput;
  }
  return code.ok() ? *code : ExitCodeOf(code.status());
}

}  // namespace hpc::client
