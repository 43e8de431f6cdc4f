// Values of environment variables that must not be in the database.
#ifndef HPC_COORDINATOR_RUNTIME_SECRET_VAULT_H_
#define HPC_COORDINATOR_RUNTIME_SECRET_VAULT_H_

#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/ids.h"
#include "coordinator/core/values/cluster_options.h"
#include "coordinator/core/values/records.h"

namespace hpc::coordinator {

// There are two kinds of secrets. Variables whose names look like a secret are written to a file of
// the run's own (0600, in a folder with 0700), which is deleted when the run ends. Variables that
// the user does not want stored (RunProgram::unstored_env) are kept in memory alone; the file has
// only their names.
class SecretVault {
 public:
  // Loads from `folder` (made if missing) the secrets of the runs in `live`. Deletes the files of
  // all other runs.
  static absl::StatusOr<SecretVault> Open(const std::string& folder, const std::set<RunId>& live);

  // Replaces each secret in the program of a new run by kHiddenValue, and keeps it. When this
  // returns OK, what must survive a restart is on disk.
  absl::Status Hide(RunId run, RunProgram* program);

  // Puts the secrets back. FailedPrecondition: this process never knew one of them; the message
  // names it and says what to do.
  absl::Status Reveal(RunId run, RunProgram* program) const;

  // Forgets the secrets of a run that is over.
  void Drop(RunId run);

 private:
  using Secrets = std::map<std::string, std::optional<std::string>>;  // unset: not known any more

  explicit SecretVault(std::string folder) : folder_(std::move(folder)) {}
  std::string File(RunId run) const;

  std::string folder_;
  absl::flat_hash_map<RunId, Secrets> runs_;
};

// The runs that are not over.
std::set<RunId> LiveRuns(const Snapshot& snapshot);

// Whether a value in the program is hidden instead of the real one.
bool HasHiddenValues(const RunProgram& program);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RUNTIME_SECRET_VAULT_H_
