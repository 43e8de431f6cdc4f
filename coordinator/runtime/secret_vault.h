// The values of environment variables that must not be in the database.
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
#include "coordinator/core/values/model.h"

namespace hpc::coordinator {

// Two kinds of secrets. Those whose names look like one are written to a file of the run's own
// (0600, in a folder that is 0700), which is deleted when the run ends. Those that the user does
// not want stored (RunProgram::unstored_env) are in memory alone: of them the file has the name.
class SecretVault {
 public:
  // Takes up what `folder` (made if missing) holds of the runs in `live`; the files of all others
  // are deleted.
  static absl::StatusOr<SecretVault> Open(const std::string& folder, const std::set<RunId>& live);

  // Replaces each secret of a new run's program by kHiddenValue, and keeps it. What must survive a
  // restart is on disk when this returns OK.
  absl::Status Hide(RunId run, RunProgram* program);

  // Puts the secrets back. FailedPrecondition: this process never knew one of them; the message
  // names it and says what to do.
  absl::Status Reveal(RunId run, RunProgram* program) const;

  // The run is over.
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

// Whether a program has a value in it that is not the real one.
bool HasHiddenValues(const RunProgram& program);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RUNTIME_SECRET_VAULT_H_
