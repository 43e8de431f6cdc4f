#include "client/cli/input/per_node_check.h"

#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "client/cli/input/interpreters.h"
#include "client/cli/input/launcher_check.h"
#include "client/cli/input/shell_text.h"
#include "client/cli/input/usage_error.h"

namespace hpc::client {
namespace {

// One option of a launcher, as "--rdzv-endpoint=localhost:0", with "-" between its words.
struct LauncherOption {
  std::string name;
  std::string value;
  std::string typed;
};

constexpr std::array kFlags = {"--standalone", "--no-python", "--run-path", "--use-env"};

// The options of the torchrun in `words`, in front of what it is to run. It takes both "--nnodes=1"
// and "--nnodes 1".
template <typename Words>
std::vector<LauncherOption> OptionsOfTorchrun(const Words& words) {
  std::vector<LauncherOption> found;
  auto it = std::find_if(words.begin(), words.end(), [](absl::string_view word) {
    return FileName(word) == "torchrun" || absl::StartsWith(word, "torch.distributed.");
  });
  if (it == words.end()) return found;
  for (++it; it != words.end() && absl::StartsWith(*it, "--"); ++it) {
    const std::string word(*it);
    const std::pair<std::string, std::string> parts = absl::StrSplit(word, absl::MaxSplits('=', 1));
    LauncherOption option{absl::StrReplaceAll(parts.first, {{"_", "-"}}), parts.second, word};
    if (option.name == "--module") return found;  // what follows is the module's
    const bool flag = std::find(kFlags.begin(), kFlags.end(), option.name) != kFlags.end();
    if (!flag && !absl::StrContains(word, '=') && std::next(it) != words.end()) {
      option.value = std::string(*++it);
      absl::StrAppend(&option.typed, " ", option.value);
    }
    found.push_back(std::move(option));
  }
  return found;
}

bool IsOfThisPc(absl::string_view endpoint) {
  const absl::string_view host = endpoint.substr(0, endpoint.find(':'));
  return host == "localhost" || absl::StartsWith(host, "127.");
}

// Why the option keeps a node from its peers; "" if it does not.
std::string WhyAlone(const LauncherOption& option) {
  if (option.name == "--standalone") return "makes each node train alone";
  if (option.name == "--nnodes" && option.value == "1") return "makes each node train alone";
  const bool endpoint = option.name == "--rdzv-endpoint" || option.name == "--master-addr";
  if (endpoint && IsOfThisPc(option.value)) return "means another PC on each node";
  if (endpoint && (option.value.empty() || option.value[0] == ':')) {
    return "names no PC: a variable in it was empty in this shell";
  }
  if (option.name != "--node-rank") return "";
  int32_t rank = 0;
  const bool fixed = option.value.empty() || absl::SimpleAtoi(option.value, &rank);
  return fixed ? "is the same on each node" : "";
}

// The same for an option that no shell has read, of a run of at most so many nodes.
std::string WhyApart(const LauncherOption& option, int32_t nodes) {
  const std::string alone = WhyAlone(option);
  if (!alone.empty()) return alone;
  int32_t asked = 0;
  if (option.name == "--nnodes" && absl::SimpleAtoi(option.value, &asked) && asked != nodes) {
    return absl::StrCat("waits for another number of nodes than the ", nodes, " of -N");
  }
  const bool of_shell = absl::StrContains(option.value, '$');
  return of_shell ? "has a variable that no shell reads here (behind bash -c '...' one does)" : "";
}

// The command without the option.
std::string Without(const LauncherOption& option, const CommandWords& command) {
  std::vector<std::string> words(command.begin(), command.end());
  const std::vector<std::string> typed = absl::StrSplit(option.typed, ' ');
  const auto at = std::search(words.begin(), words.end(), typed.begin(), typed.end());
  if (at != words.end()) words.erase(at, at + static_cast<ptrdiff_t>(typed.size()));
  return absl::StrJoin(words, " ");
}

bool IsOnSeveralNodes(const v1::RunSpec& spec) { return spec.max_nodes() > 1; }

// Whether nothing in the Python script looks as if it started ranks for a node.
bool IsPlainScript(const CommandWords& command, absl::string_view script) {
  if (command.empty() || !IsPython(FileName(command[0])) || script.empty()) return false;
  constexpr std::array kSigns = {"NODE_RANK", "NNODES", "PET_",           "lightning",
                                 "Lightning", "spawn",  "multiprocessing"};
  return std::none_of(kSigns.begin(), kSigns.end(),
                      [&](const char* sign) { return absl::StrContains(script, sign); });
}

// Whether the Python script makes ranks of its own, with torch.multiprocessing.
bool Spawns(const CommandWords& command, absl::string_view script) {
  if (command.empty() || !IsPython(FileName(command[0]))) return false;
  return absl::StrContains(script, "mp.spawn(") ||
         absl::StrContains(script, "multiprocessing.spawn(");
}

// With "-" between the option's words, or "_".
bool HasOption(const v1::RunSpec& spec, absl::string_view name) {
  return std::any_of(spec.command().begin(), spec.command().end(), [&](const std::string& word) {
    return absl::StrReplaceAll(word.substr(0, word.find('=')), {{"_", "-"}}) == name;
  });
}

std::string SpawnHint(const v1::RunSpec& spec, absl::string_view script) {
  // Many scripts make ranks only if they were not started as one.
  const bool reads_rank = absl::StrContains(script, "WORLD_SIZE") ||
                          absl::StrContains(script, "\"RANK\"") ||
                          absl::StrContains(script, "'RANK'");
  if (reads_rank || !Spawns(spec.command(), script)) return "";
  return absl::StrCat(
      ScriptOf(spec.command()),
      " makes ranks of its own with mp.spawn, on each node apart: leave mp.spawn out, since hpcctl "
      "starts the ranks and each has RANK and WORLD_SIZE; or type 'hpcctl run ",
      NodesOption(spec), "--mode per-node -- python ", ScriptOf(spec.command()),
      "' and let it count its ranks from NODE_RANK and NNODES");
}

std::string PlainScriptHint(const v1::RunSpec& spec, absl::string_view script) {
  if (!IsPlainScript(spec.command(), script)) return "";
  return absl::StrCat(
      ScriptOf(spec.command()),
      " is started once on each node, and with --mode per-node it gets NODE_RANK but no RANK or "
      "WORLD_SIZE: unless it starts its ranks itself, as Lightning does, leave that out: 'hpcctl "
      "run ",
      NodesOption(spec), "-- python ", ScriptOf(spec.command()), "'");
}

std::string OtherLauncherHint(const v1::RunSpec& spec, absl::string_view launcher) {
  const auto has = [&](absl::string_view name) { return HasOption(spec, name); };
  if (launcher == "fabric run") {
    if (has("--node-rank")) return "";
    return absl::StrCat("fabric run is not told which node it is on, so no node finds the others: ",
                        FabricCommand(spec));
  }
  const bool told = has("--machine-rank") || has("--main-process-ip") || has("--config-file") ||
                    has("--no-ssh") || has("--hostfile");
  const bool asks_nobody =
      absl::StrContains(launcher, "accelerate") || absl::StrContains(launcher, "deepspeed");
  if (told || !asks_nobody) return "";
  return absl::StrCat(launcher,
                      " is not told where the other nodes are, so each node trains alone: leave it "
                      "and --mode per-node out, since hpcctl starts the ranks: 'hpcctl run ",
                      NodesOption(spec), "-- python train.py'");
}

}  // namespace

absl::Status CheckPerNode(const v1::RunSpec& spec) {
  if (spec.mode() != v1::LAUNCH_MODE_PER_NODE) return absl::OkStatus();
  const std::string nodes = NodesOption(spec);
  if (spec.legacy_local_rank() != v1::LEGACY_LOCAL_RANK_UNSPECIFIED &&
      spec.legacy_local_rank() != v1::LEGACY_LOCAL_RANK_NONE) {
    return UsageError(absl::StrCat(
        "--legacy-local-rank is for ranks that hpcctl starts, and with --mode per-node the command "
        "starts its own: leave the launcher and --mode out, as in 'hpcctl run ",
        nodes, "--ranks-per-node 2 --legacy-local-rank=underscore -- python train.py'."));
  }
  const std::string launcher = LauncherIn(spec.command());
  if (!IsOnSeveralNodes(spec) || launcher.empty() || IsOtherLauncher(launcher)) {
    return absl::OkStatus();
  }
  for (const LauncherOption& option : OptionsOfTorchrun(spec.command())) {
    const std::string why = WhyApart(option, spec.max_nodes());
    if (why.empty()) continue;
    return UsageError(absl::StrCat(
        "'", option.typed, "' of ", launcher, " ", why,
        ": leave it out, since --mode per-node tells torchrun how many nodes there are, which of "
        "them it is on and where they meet: 'hpcctl run ",
        nodes, "--mode per-node -- ", Without(option, spec.command()), "'."));
  }
  return absl::OkStatus();
}

std::string PerNodeHint(const v1::RunSpec& spec, absl::string_view script) {
  if (!IsOnSeveralNodes(spec)) return "";
  const std::string alone = AloneInShellText(ShellTextOf(spec.command(), script));
  if (!alone.empty()) {
    return absl::StrCat("'", alone,
                        "' in the script makes each node train alone: leave it out there, since "
                        "--mode per-node tells torchrun where the others are");
  }
  if (spec.mode() == v1::LAUNCH_MODE_UNSPECIFIED) return SpawnHint(spec, script);
  if (spec.mode() != v1::LAUNCH_MODE_PER_NODE) return "";
  const std::string launcher = LauncherIn(spec.command());
  return launcher.empty() ? PlainScriptHint(spec, script) : OtherLauncherHint(spec, launcher);
}

std::string AloneInShellText(absl::string_view text) {
  if (LauncherInShellText(text).empty() || IsOtherLauncher(LauncherInShellText(text))) return "";
  for (const std::string& line : ShellLines(text)) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t;&|()\"'"), absl::SkipEmpty());
    for (const LauncherOption& option : OptionsOfTorchrun(words)) {
      if (!WhyAlone(option).empty()) return option.typed;
    }
  }
  return "";
}

}  // namespace hpc::client
