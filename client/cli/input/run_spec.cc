#include "client/cli/input/run_spec.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/input/launcher_check.h"
#include "client/cli/input/per_node_check.h"
#include "client/cli/input/program_on_stdin.h"
#include "client/cli/input/shell_words.h"
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

absl::Status CheckNodes(const v1::RunSpec& spec) {
  const std::set<std::string> wanted(spec.node_list().begin(), spec.node_list().end());
  for (const std::string& node : spec.exclude()) {
    if (wanted.count(node) == 0) continue;
    return UsageError(absl::StrCat("--nodelist and --exclude both name ", node,
                                   ": leave it out of one of them."));
  }
  if (wanted.empty() || spec.min_nodes() <= static_cast<int>(wanted.size())) {
    return absl::OkStatus();
  }
  return UsageError(absl::StrCat("-N ", NodeRange(spec.min_nodes(), spec.max_nodes()),
                                 " asks for more nodes than --nodelist names (", wanted.size(),
                                 "): name more or ask for fewer."));
}

absl::Status AddVariable(const std::string& key, const std::string& value, v1::RunSpec* spec) {
  if (key.empty()) {
    return UsageError(
        absl::StrCat("--env '=", ToValidUtf8(value), "' has no name before the '='."));
  }
  HPC_RETURN_IF_ERROR(AsUsageError(CheckText("the name of an --env", key)));
  HPC_RETURN_IF_ERROR(AsUsageError(CheckText(absl::StrCat("the value of --env ", key), value)));
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
    HPC_RETURN_IF_ERROR(AsUsageError(CheckText(
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

absl::Status CompleteWorkdir(const Caller& caller, v1::RunSpec* spec) {
  if (absl::StartsWith(spec->workdir(), "/")) return absl::OkStatus();
  if (caller.workdir.empty()) {
    return UsageError(
        "this directory does not exist any more, so nothing can run in it: change to another one, "
        "or name one with --workdir.");
  }
  spec->set_workdir(spec->workdir().empty() ? caller.workdir
                                            : absl::StrCat(caller.workdir, "/", spec->workdir()));
  return AsUsageError(CheckText("--workdir", spec->workdir()));
}

}  // namespace

absl::StatusOr<v1::RunSpec> BuildSpec(RunOptions run, const Caller& caller) {
  v1::RunSpec spec = std::move(run.spec);
  HPC_RETURN_IF_ERROR(CheckNodes(spec));
  HPC_RETURN_IF_ERROR(CheckShellWords(run.command));
  if (ReadsProgram(run.command)) return NoProgram(run.command);
  HPC_RETURN_IF_ERROR(SetEnvironment(run, caller, &spec));
  HPC_RETURN_IF_ERROR(SetCommand(run, &spec));
  HPC_RETURN_IF_ERROR(CheckLauncher(spec));
  HPC_RETURN_IF_ERROR(CheckPerNode(spec));
  HPC_RETURN_IF_ERROR(CompleteWorkdir(caller, &spec));
  if (!spec.has_umask()) spec.set_umask(caller.umask);
  spec.set_submit_host(ToValidUtf8(caller.host));
  return spec;
}

}  // namespace hpc::client
