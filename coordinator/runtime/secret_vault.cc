#include "coordinator/runtime/secret_vault.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/files/files.h"
#include "common/secret_name.h"
#include "common/status_macros.h"

namespace hpc::coordinator {
namespace {

using nlohmann::json;

}  // namespace

std::string SecretVault::File(RunId run) const { return absl::StrCat(folder_, "/", run); }

absl::StatusOr<SecretVault> SecretVault::Open(const std::string& folder,
                                              const std::set<RunId>& live) {
  HPC_RETURN_IF_ERROR(MakeDirsDurably(folder, 0700));
  SecretVault vault(folder);
  HPC_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(folder));
  for (const std::string& name : names) {
    const std::string path = absl::StrCat(folder, "/", name);
    RunId run = 0;
    // This also removes what an interrupted write has left.
    if (!absl::SimpleAtoi(name, &run) || !live.contains(run)) {
      unlink(path.c_str());
      continue;
    }
    HPC_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
    const json record = json::parse(text, nullptr, /*allow_exceptions=*/false);
    // A damaged file counts as no file: the run will say what it lacks.
    if (!record.is_object()) continue;
    Secrets& secrets = vault.runs_[run];
    for (const auto& [key, value] : record.items()) {
      std::optional<std::string>& secret = secrets[key];
      if (value.is_string()) secret = value.get<std::string>();
    }
  }
  return vault;
}

absl::Status SecretVault::Hide(RunId run, RunProgram* program) {
  const auto& unstored = program->unstored_env;
  Secrets secrets;
  json record = json::object();
  for (auto& [key, value] : program->env) {
    const bool stored = std::find(unstored.begin(), unstored.end(), key) == unstored.end();
    // A value that equals kHiddenValue is kept as a secret, too. Otherwise it would be taken for a
    // hidden one.
    if (stored && !LooksSecret(key) && value != kHiddenValue) continue;
    record[key] = stored ? json(value) : json();
    secrets[key] = std::exchange(value, kHiddenValue);
  }
  if (secrets.empty()) return absl::OkStatus();
  runs_[run] = std::move(secrets);
  return WriteFileAtomically(File(run), record.dump(), 0600);
}

absl::Status SecretVault::Reveal(RunId run, RunProgram* program) const {
  const auto known = runs_.find(run);
  for (auto& [key, value] : program->env) {
    if (value != kHiddenValue) continue;
    const auto secret = known == runs_.end() ? Secrets::const_iterator() : known->second.find(key);
    if (known == runs_.end() || secret == known->second.end() || !secret->second) {
      return absl::FailedPreconditionError(
          absl::StrCat("the coordinator has been restarted and does not know the value of ", key,
                       " any more, which it was to keep in memory only (--env-secret): submit the "
                       "run again"));
    }
    value = *secret->second;
  }
  return absl::OkStatus();
}

void SecretVault::Drop(RunId run) {
  if (runs_.erase(run) > 0) unlink(File(run).c_str());
}

std::set<RunId> LiveRuns(const Snapshot& snapshot) {
  std::set<RunId> live;
  for (const RunRecord& run : snapshot.runs) {
    if (!IsTerminal(run.state)) live.insert(run.id);
  }
  return live;
}

bool HasHiddenValues(const RunProgram& program) {
  return std::any_of(program.env.begin(), program.env.end(),
                     [](const auto& variable) { return variable.second == kHiddenValue; });
}

}  // namespace hpc::coordinator
