#include "client/cli/input/run_spec.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/input/launcher_check.h"
#include "client/cli/input/usage_error.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace hpc::client {
namespace {

constexpr size_t kMaxCommandBytes = 10'000'000;

// The caller's shell keeps these variables for itself. On another PC they would be wrong.
bool BelongsToShell(absl::string_view key) {
  return key == "_" || key == "PWD" || key == "OLDPWD" || key == "SHLVL";
}

// Turns an error of common/text.h into a usage error.
absl::Status AsUsage(const absl::Status& status) {
  return status.ok() ? status : UsageError(absl::StrCat(status.message(), "."));
}

absl::Status SetNodes(const RunOptions& run, v1::RunSpec* spec) {
  const std::pair<absl::string_view, absl::string_view> range =
      absl::StrSplit(run.nodes, absl::MaxSplits(':', 1));
  int32_t min = 0, max = 0;
  const bool is_range = absl::StrContains(run.nodes, ':');
  const bool read = absl::SimpleAtoi(range.first, &min) &&
                    absl::SimpleAtoi(is_range ? range.second : range.first, &max);
  if (!read || min < 1 || max < 1 || max > kMaxCount) {
    return UsageError(absl::StrCat("-N '", ToValidUtf8(run.nodes),
                                   "' is not a number of nodes: give one (-N 4) or a range from "
                                   "fewest to most (-N 2:4), each at least 1."));
  }
  if (max < min) {
    return UsageError(absl::StrCat("-N ", run.nodes, " asks for at least ", min, " and at most ",
                                   max, " nodes: a range goes from fewest to most, as in -N ", max,
                                   ":", min, "."));
  }
  spec->set_min_nodes(min);
  spec->set_max_nodes(max);
  return absl::OkStatus();
}

absl::Status SetNodeNames(const RunOptions& run, v1::RunSpec* spec) {
  std::set<std::string> wanted;
  for (const std::string& node : run.node_list) {
    HPC_RETURN_IF_ERROR(AsUsage(CheckNodeName(node)));
    if (wanted.insert(node).second) spec->add_node_list(node);
  }
  for (const std::string& node : run.exclude) {
    HPC_RETURN_IF_ERROR(AsUsage(CheckNodeName(node)));
    if (wanted.count(node) > 0) {
      return UsageError(absl::StrCat("--nodelist and --exclude both name ", node,
                                     ": leave it out of one of them."));
    }
    spec->add_exclude(node);
  }
  if (!wanted.empty() && spec->min_nodes() > static_cast<int>(wanted.size())) {
    return UsageError(absl::StrCat("-N ", run.nodes, " asks for more nodes than --nodelist names (",
                                   wanted.size(), "): name more or ask for fewer."));
  }
  return absl::OkStatus();
}

absl::Status SetParams(const RunOptions& run, v1::RunSpec* spec) {
  std::set<absl::string_view> keys;
  for (const std::string& param : run.params) {
    const size_t equals = param.find('=');
    if (equals == std::string::npos) {
      return UsageError(absl::StrCat("--param '", ToValidUtf8(param),
                                     "' has no value: write it as key=value, as in --param "
                                     "lr=0.1."));
    }
    const absl::string_view key = absl::string_view(param).substr(0, equals);
    HPC_RETURN_IF_ERROR(AsUsage(CheckName("the key of a --param", key)));
    HPC_RETURN_IF_ERROR(
        AsUsage(CheckText(absl::StrCat("the value of --param ", key), param.substr(equals + 1))));
    if (!keys.insert(key).second) {
      return UsageError(absl::StrCat("--param ", key, " is given twice; keys are unique."));
    }
    v1::KeyValue* entry = spec->add_params();
    entry->set_key(std::string(key));
    entry->set_value(param.substr(equals + 1));
  }
  return absl::OkStatus();
}

absl::Status SetNames(const RunOptions& run, v1::RunSpec* spec) {
  if (!run.name.empty()) HPC_RETURN_IF_ERROR(AsUsage(CheckName("--name", run.name)));
  if (!run.experiment.empty()) {
    HPC_RETURN_IF_ERROR(AsUsage(CheckName("--experiment", run.experiment)));
  }
  spec->set_name(run.name);
  spec->set_experiment(run.experiment);
  for (const std::string& tag : run.tags) {
    HPC_RETURN_IF_ERROR(AsUsage(CheckName("--tag", tag)));
    spec->add_tags(tag);
  }
  return absl::OkStatus();
}

absl::Status AddVariable(const std::string& key, const std::string& value, v1::RunSpec* spec) {
  if (key.empty()) {
    return UsageError(
        absl::StrCat("--env '=", ToValidUtf8(value), "' has no name before the '='."));
  }
  HPC_RETURN_IF_ERROR(AsUsage(CheckText("the name of an --env", key)));
  HPC_RETURN_IF_ERROR(AsUsage(CheckText(absl::StrCat("the value of --env ", key), value)));
  // A later value replaces an earlier one, so that --env can change what --env-all has taken.
  for (v1::KeyValue& entry : *spec->mutable_env()) {
    if (entry.key() == key) {
      entry.set_value(value);
      return absl::OkStatus();
    }
  }
  v1::KeyValue* entry = spec->add_env();
  entry->set_key(key);
  entry->set_value(value);
  return absl::OkStatus();
}

void CopyEnvironment(const Caller& caller, v1::RunSpec* spec) {
  for (const auto& [key, value] : caller.environment) {
    // A value that is not text cannot be stored. It is skipped, since nobody asked for it by name.
    if (BelongsToShell(key) || key.empty() || !CheckText("", key).ok() ||
        !CheckText("", value).ok()) {
      continue;
    }
    v1::KeyValue* entry = spec->add_env();
    entry->set_key(key);
    entry->set_value(value);
  }
}

// Returns the caller's variable, or null if it is not set here.
const std::pair<std::string, std::string>* FindVariable(const Caller& caller,
                                                        const std::string& key) {
  const auto found = std::find_if(caller.environment.begin(), caller.environment.end(),
                                  [&](const auto& entry) { return entry.first == key; });
  return found == caller.environment.end() ? nullptr : &*found;
}

absl::Status SetSecrets(const RunOptions& run, const Caller& caller, v1::RunSpec* spec) {
  for (const std::string& key : run.env_secret) {
    if (const size_t equals = key.find('='); equals != std::string::npos) {
      const std::string name = ToValidUtf8(key.substr(0, equals));
      return UsageError(
          absl::StrCat("--env-secret takes no value, which everybody on this PC could "
                       "read in the list of processes: set ",
                       name, " in this shell and say --env-secret ", name, "."));
    }
    const auto* found = FindVariable(caller, key);
    if (found == nullptr) {
      return UsageError(absl::StrCat("--env-secret ", ToValidUtf8(key),
                                     " passes on a variable that is not set here: set it first."));
    }
    HPC_RETURN_IF_ERROR(AddVariable(found->first, found->second, spec));
    const auto& given = spec->unstored_env();
    if (std::find(given.begin(), given.end(), key) == given.end()) spec->add_unstored_env(key);
  }
  return absl::OkStatus();
}

absl::Status SetEnvironment(const RunOptions& run, const Caller& caller, v1::RunSpec* spec) {
  if (run.env_all) CopyEnvironment(caller, spec);
  for (const std::string& given : run.env) {
    const size_t equals = given.find('=');
    if (equals != std::string::npos) {
      HPC_RETURN_IF_ERROR(AddVariable(given.substr(0, equals), given.substr(equals + 1), spec));
      continue;
    }
    const auto* found = FindVariable(caller, given);
    if (found == nullptr) {
      return UsageError(absl::StrCat("--env ", ToValidUtf8(given),
                                     " copies a variable that is not set here: set it, or give "
                                     "its value as --env ",
                                     ToValidUtf8(given), "=VALUE."));
    }
    HPC_RETURN_IF_ERROR(AddVariable(found->first, found->second, spec));
  }
  return SetSecrets(run, caller, spec);
}

absl::Status SetCommand(const RunOptions& run, v1::RunSpec* spec) {
  size_t bytes = 0;
  for (size_t i = 0; i < run.command.size(); ++i) {
    bytes += run.command[i].size();
    HPC_RETURN_IF_ERROR(AsUsage(CheckText(
        i == 0 ? "the command" : absl::StrCat("argument ", i, " of the command"), run.command[i])));
    spec->add_command(run.command[i]);
  }
  if (run.command.empty() || run.command[0].empty()) {
    return UsageError("there is no command to run.");
  }
  if (bytes > kMaxCommandBytes) {
    return UsageError(absl::StrCat("the command and its arguments are ", HumanBytes(bytes),
                                   "; at most 10 MB are allowed. Put the data into a file."));
  }
  return absl::OkStatus();
}

absl::Status SetWorkdir(const RunOptions& run, const Caller& caller, v1::RunSpec* spec) {
  std::string workdir = run.workdir.empty() ? caller.workdir : run.workdir;
  if (caller.workdir.empty() && !absl::StartsWith(workdir, "/")) {
    return UsageError(
        "this directory does not exist any more, so nothing can run in it: change to another one, "
        "or name one with --workdir.");
  }
  if (!absl::StartsWith(workdir, "/")) workdir = absl::StrCat(caller.workdir, "/", workdir);
  spec->set_workdir(workdir);
  return AsUsage(CheckText("--workdir", workdir));
}

void SetModes(const RunOptions& run, v1::RunSpec* spec) {
  spec->set_grow(run.grow == "never" ? v1::GROW_MODE_NEVER
                 : run.grow == "now" ? v1::GROW_MODE_NOW
                                     : v1::GROW_MODE_CHECKPOINT);
  spec->set_mode(run.mode == "per-node" ? v1::LAUNCH_MODE_PER_NODE : v1::LAUNCH_MODE_TORCHRUN);
  spec->set_store_host(run.store == "worker"  ? v1::STORE_HOST_WORKER
                       : run.store == "rank0" ? v1::STORE_HOST_RANK0
                                              : v1::STORE_HOST_AUTO);
  spec->set_legacy_local_rank(run.legacy_local_rank == "dash" ? v1::LEGACY_LOCAL_RANK_DASH
                              : run.legacy_local_rank == "underscore"
                                  ? v1::LEGACY_LOCAL_RANK_UNDERSCORE
                                  : v1::LEGACY_LOCAL_RANK_NONE);
}

absl::Status SetRetryExits(const RunOptions& run, v1::RunSpec* spec) {
  for (const std::string& text : run.retry_exits) {
    int32_t code = 0;
    if (!absl::SimpleAtoi(text, &code) || code < 1 || code > 255) {
      return UsageError(absl::StrCat("--retry-exit '", ToValidUtf8(text),
                                     "' is not an exit code that asks for another try: give one "
                                     "from 1 to 255, as 75 (128 + n stands for signal n)."));
    }
    const auto& known = spec->retry_exits();
    if (std::find(known.begin(), known.end(), code) == known.end()) spec->add_retry_exits(code);
  }
  return absl::OkStatus();
}

void SetLimits(const RunOptions& run, v1::RunSpec* spec) {
  const auto milliseconds = [](absl::Duration d) {
    return std::max<int64_t>(1, absl::ToInt64Milliseconds(d));
  };
  spec->set_ranks_per_node(run.ranks_per_node);
  if (run.gpus_per_node) spec->set_gpus_per_node(*run.gpus_per_node);
  spec->set_priority(run.priority);
  spec->set_after_run(run.after);
  spec->set_max_restarts(run.max_restarts);
  if (run.time_limit) spec->set_time_limit_ms(milliseconds(*run.time_limit));
  spec->set_stop_grace_ms(milliseconds(run.stop_grace.value_or(absl::Seconds(30))));
}

}  // namespace

absl::StatusOr<v1::RunSpec> BuildSpec(const RunOptions& run, const Caller& caller) {
  v1::RunSpec spec;
  HPC_RETURN_IF_ERROR(SetNodes(run, &spec));
  HPC_RETURN_IF_ERROR(SetNodeNames(run, &spec));
  HPC_RETURN_IF_ERROR(SetNames(run, &spec));
  HPC_RETURN_IF_ERROR(SetParams(run, &spec));
  HPC_RETURN_IF_ERROR(SetEnvironment(run, caller, &spec));
  HPC_RETURN_IF_ERROR(SetCommand(run, &spec));
  HPC_RETURN_IF_ERROR(CheckLauncher(run));
  HPC_RETURN_IF_ERROR(SetWorkdir(run, caller, &spec));
  HPC_RETURN_IF_ERROR(SetRetryExits(run, &spec));
  SetModes(run, &spec);
  SetLimits(run, &spec);
  spec.set_submit_host(ToValidUtf8(caller.host));
  return spec;
}

}  // namespace hpc::client
