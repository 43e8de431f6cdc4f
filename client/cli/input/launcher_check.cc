#include "client/cli/input/launcher_check.h"

#include <algorithm>
#include <array>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/cli/input/run_options.h"
#include "client/cli/input/usage_error.h"

namespace hpc::client {
namespace {

constexpr std::array kModules = {"torch.distributed.run", "torch.distributed.launch"};
// The options by which torchrun is told where its peers are, with "-" or "_" between words.
constexpr std::array kRendezvous = {"--rdzv", "--nnodes", "--node", "--master"};

absl::string_view FileName(absl::string_view path) { return path.substr(path.rfind('/') + 1); }

bool IsModule(absl::string_view name) {
  return std::find(kModules.begin(), kModules.end(), name) != kModules.end();
}

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

// A user who names the mode knows about it, so only the default is suspicious.
bool Suspicious(const v1::RunSpec& spec) {
  return spec.mode() == v1::LAUNCH_MODE_UNSPECIFIED && !LauncherIn(spec.command()).empty() &&
         !FindsItsPeers(spec);
}

std::string Remedy(const v1::RunSpec& spec, absl::string_view launcher) {
  const std::string nodes =
      IsOnOneNode(spec) ? ""
                        : absl::StrCat("-N ", NodeRange(spec.min_nodes(), spec.max_nodes()), " ");
  return absl::StrCat(
      "Type 'hpcctl run ", nodes, "--mode per-node -- ", launcher,
      " ...' for one on each node; or leave ", launcher,
      " and its options out, since hpcctl starts the ranks as it does: 'hpcctl run ", nodes,
      "-- python train.py', with --legacy-local-rank if the script wants --local_rank");
}

}  // namespace

std::string LauncherIn(const CommandWords& command) {
  if (command.empty()) return "";
  const absl::string_view program = FileName(command[0]);
  if (program == "torchrun") return "torchrun";
  return absl::StartsWith(program, "python") ? LauncherOfPython(command) : "";
}

absl::Status CheckLauncher(const v1::RunSpec& spec) {
  if (!Suspicious(spec) || (IsOnOneNode(spec) && RanksOfANode(spec) == 0)) return absl::OkStatus();
  const std::string launcher = LauncherIn(spec.command());
  return UsageError(absl::StrCat(launcher, " starts the ranks itself, and would be started once ",
                                 "for each of them, as many runs that know nothing of each other. ",
                                 Remedy(spec, launcher), ". --mode torchrun insists."));
}

std::string LauncherHint(const v1::RunSpec& spec) {
  if (!Suspicious(spec)) return "";
  const std::string launcher = LauncherIn(spec.command());
  return absl::StrCat(launcher, " starts the ranks itself, and on a node with several GPUs it is ",
                      "now started once for each of them. ", Remedy(spec, launcher));
}

}  // namespace hpc::client
