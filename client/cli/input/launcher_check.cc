#include "client/cli/input/launcher_check.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "client/cli/input/interpreters.h"
#include "client/cli/input/run_options.h"
#include "client/cli/input/shell_text.h"
#include "client/cli/input/usage_error.h"

namespace hpc::client {
namespace {

constexpr std::array kModules = {"torch.distributed.run", "torch.distributed.launch"};
// Launchers that find their peers in ways of their own, and so are best left out.
constexpr std::array kOthers = {"accelerate launch", "accelerate-launch", "deepspeed", "fabric run",
                                "horovodrun",        "mpiexec",           "mpirun"};
constexpr std::array kOtherModules = {"accelerate.commands.launch", "deepspeed.launcher.runner",
                                      "lightning.fabric.cli"};
// These ask Slurm, which hpcctl does not use.
constexpr std::array kSlurms = {"srun", "sbatch", "salloc", "scontrol"};
// The options by which torchrun is told where its peers are, with "-" or "_" between words.
constexpr std::array kRendezvous = {"--rdzv", "--nnodes", "--node", "--master"};

// So many words at most stand in front of a launcher, with its own.
constexpr int kMostInFront = 64;

template <typename Names>
bool IsIn(const Names& names, absl::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool IsModule(absl::string_view name) { return IsIn(kModules, name) || IsIn(kOtherModules, name); }

// Looks for a launcher in what Python is to run: "-m" and a module, or a script. Only two of the
// options before it take a word of their own.
std::string LauncherOfPython(const CommandWords& command) {
  for (int i = 1; i < command.size(); ++i) {
    const std::string& word = command[i];
    if (word == "-m") {
      const bool found = i + 1 < command.size() && IsModule(command[i + 1]);
      return found ? absl::StrCat(FileName(command[0]), " -m ", command[i + 1]) : "";
    }
    if (word == "-X" || word == "-W") {
      ++i;
    } else if (!absl::StartsWith(word, "-")) {
      return FileName(word) == "torchrun" ? "torchrun" : "";
    } else if (word == "-c" || word == "-") {
      return "";
    }
  }
  return "";
}

// Returns the number of ranks on a node; 0 means one for each GPU that the node turns out to have.
int32_t RanksOfANode(const v1::RunSpec& spec) {
  if (spec.ranks_per_node() > 0 || !spec.has_gpus_per_node()) return spec.ranks_per_node();
  return std::max(1, spec.gpus_per_node());
}

bool IsOnOneNode(const v1::RunSpec& spec) { return spec.max_nodes() <= 1; }

// Returns whether at most one launcher is started on each node, and the launchers of several nodes
// are told where to meet.
bool FindsItsPeers(const v1::RunSpec& spec) {
  if (RanksOfANode(spec) != 1) return false;
  const auto& words = spec.command();
  return IsOnOneNode(spec) || std::any_of(words.begin(), words.end(), [](const std::string& word) {
           return std::any_of(kRendezvous.begin(), kRendezvous.end(),
                              [&](const char* option) { return absl::StartsWith(word, option); });
         });
}

// A user who names torchrun's mode knows about it. Slurm's variables are nothing that a launcher
// looks for.
bool Suspicious(const v1::RunSpec& spec) {
  const bool meant =
      spec.mode() != v1::LAUNCH_MODE_UNSPECIFIED && spec.mode() != v1::LAUNCH_MODE_SLURM;
  return !meant && !LauncherIn(spec.command()).empty() && !FindsItsPeers(spec);
}

std::string Remedy(const v1::RunSpec& spec, absl::string_view launcher) {
  const std::string nodes = NodesOption(spec);
  const std::string leave_out =
      absl::StrCat("leave ", launcher, " and its options out, since hpcctl starts the ranks as it ",
                   "does: 'hpcctl run ", nodes, "-- python train.py'");
  if (launcher == "fabric run") {
    return absl::StrCat("Instead, type ", FabricCommand(spec), "; or give Fabric() its ",
                        "num_nodes and strategy, and ", leave_out);
  }
  if (IsOtherLauncher(launcher)) return absl::StrCat("Instead, ", leave_out);
  return absl::StrCat("Type 'hpcctl run ", nodes, "--mode per-node -- ", launcher,
                      " ...' for one on each node; or ", leave_out,
                      ", with --legacy-local-rank if the script wants --local_rank");
}

std::string OtherLauncher(const CommandWords& command) {
  if (absl::StartsWith(command[0], "./")) return "";  // a program of the user's own
  std::string words(FileName(command[0]));
  if ((words == "accelerate" || words == "fabric") && command.size() > 1) {
    absl::StrAppend(&words, " ", command[1]);
  }
  return IsIn(kOthers, words) || IsIn(kSlurms, words) ? words : "";
}

// The first word behind a program's options.
CommandWords::const_iterator FirstArgument(const CommandWords& command) {
  return std::find_if(command.begin() + 1, command.end(),
                      [](const std::string& word) { return !absl::StartsWith(word, "-"); });
}

// Whether a shell is given what to do as an argument: bash -c "...", sh -lc "...".
bool GivesText(const CommandWords& shell) {
  return shell.size() > 1 && absl::StartsWith(shell[1], "-") && absl::StrContains(shell[1], "c");
}

std::string SlurmsRemedy(const v1::RunSpec& spec, absl::string_view command) {
  const std::string nodes = NodesOption(spec);
  return absl::StrCat(
      command, " asks Slurm, and there is none: hpcctl starts the ranks itself. ",
      command == "sbatch"
          ? absl::StrCat("'hpcctl run ", nodes, "--detach -- ./job.sh' queues a script")
          : absl::StrCat("'hpcctl run ", nodes,
                         "--mode slurm -- python train.py' gives each rank Slurm's variables"));
}

}  // namespace

std::string NodesOption(const v1::RunSpec& spec) {
  if (IsOnOneNode(spec)) return "";
  return absl::StrCat("-N ", NodeRange(spec.min_nodes(), spec.max_nodes()), " ");
}

std::string FabricCommand(const v1::RunSpec& spec) {
  return absl::StrCat("'hpcctl run ", NodesOption(spec),
                      "--mode per-node -- bash -c 'fabric run --num-nodes=$NNODES "
                      "--node-rank=$NODE_RANK --main-address=$MASTER_ADDR "
                      "--main-port=$MASTER_PORT train.py''");
}

bool IsOtherLauncher(absl::string_view launcher) {
  return IsIn(kOthers, launcher) ||
         std::any_of(kOtherModules.begin(), kOtherModules.end(),
                     [&](const char* module) { return absl::EndsWith(launcher, module); });
}

std::string LauncherInShellText(absl::string_view text) {
  // A script that looks whether it runs under Slurm is right here, too.
  const bool asks_for_slurm =
      absl::StrContains(text, "SLURM_JOB_ID") || absl::StrContains(text, "command -v srun");
  for (const std::string& line : ShellLines(text)) {
    for (const std::vector<std::string>& words : ShellCommands(line)) {
      const auto last = words.begin() + std::min<ptrdiff_t>(kMostInFront, words.size());
      const std::string launcher = LauncherIn({words.begin(), last});
      if (!launcher.empty() && !(asks_for_slurm && IsIn(kSlurms, launcher))) return launcher;
    }
  }
  return "";
}

std::string LauncherIn(const CommandWords& command) {
  if (command.empty()) return "";
  if (command.size() > kMostInFront) {
    return LauncherIn({command.begin(), command.begin() + kMostInFront});
  }
  const std::vector<std::string> words(command.begin(), command.end());
  if (const int front = WordsInFront(words); front > 0) {
    return LauncherIn({command.begin() + std::min(front, command.size()), command.end()});
  }
  const absl::string_view program = FileName(command[0]);
  if (program == "torchrun") return "torchrun";
  return absl::StartsWith(program, "python") ? LauncherOfPython(command) : OtherLauncher(command);
}

std::string ShellTextOf(const CommandWords& command, absl::string_view script) {
  if (command.empty()) return "";
  if (IsShell(FileName(command[0]))) {
    const auto text = FirstArgument(command);
    return std::string(GivesText(command) && text != command.end() ? *text : script);
  }
  const bool of_shell = absl::StartsWith(script, "#!") &&
                        !absl::StrContains(script.substr(0, script.find('\n')), "python");
  return std::string(of_shell ? script : "");
}

std::string ScriptOf(const CommandWords& command) {
  if (command.empty()) return "";
  const absl::string_view program = FileName(command[0]);
  if (!IsShell(program) && !IsPython(program)) return command[0];
  const auto script = FirstArgument(command);
  return script == command.end() || GivesText(command) ? "" : *script;
}

absl::Status CheckLauncher(const v1::RunSpec& spec) {
  const std::string first = LauncherIn(spec.command());
  const bool insists = spec.mode() == v1::LAUNCH_MODE_TORCHRUN;
  if (IsIn(kSlurms, first) && !insists) {
    return UsageError(absl::StrCat(SlurmsRemedy(spec, first), ". --mode torchrun insists."));
  }
  if (!Suspicious(spec) || (IsOnOneNode(spec) && RanksOfANode(spec) == 0)) return absl::OkStatus();
  const std::string launcher = LauncherIn(spec.command());
  return UsageError(absl::StrCat(launcher, " starts the ranks itself, and would be started once ",
                                 "for each of them, as many runs that know nothing of each other. ",
                                 Remedy(spec, launcher), ". --mode torchrun insists."));
}

std::string LauncherHint(const v1::RunSpec& spec, absl::string_view script) {
  if (Suspicious(spec)) {
    const std::string launcher = LauncherIn(spec.command());
    return absl::StrCat(launcher,
                        " starts the ranks itself, and on a node with several GPUs it is ",
                        "now started once for each of them. ", Remedy(spec, launcher));
  }
  const CommandWords& command = spec.command();
  const std::string text = ShellTextOf(command, script);
  const bool inlined = !text.empty() && ScriptOf(command).empty();
  const std::string launcher = LauncherInShellText(text);
  const std::string file = inlined ? "the command" : ScriptOf(command);
  if (IsIn(kSlurms, launcher)) {
    return absl::StrCat("in ", file, ", ", SlurmsRemedy(spec, launcher));
  }
  const bool asked =
      spec.mode() != v1::LAUNCH_MODE_UNSPECIFIED || !LauncherIn(spec.command()).empty();
  if (launcher.empty() || asked || (IsOnOneNode(spec) && RanksOfANode(spec) == 1)) return "";
  const std::string once =
      absl::StrCat("the '", launcher, "' in ", file,
                   " starts ranks itself, and is now started once for each rank ", "of hpcctl's: ");
  if (IsOtherLauncher(launcher)) {
    return absl::StrCat(once, "leave it out there, since hpcctl starts the ranks as it does");
  }
  return absl::StrCat(
      once, "'hpcctl run ", NodesOption(spec), "--mode per-node -- ",
      inlined ? absl::StrCat(command[0], " ", command[1], " '...'") : absl::StrJoin(command, " "),
      "' starts it once on each node, and tells it where to meet");
}

}  // namespace hpc::client
