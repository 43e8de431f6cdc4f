// hpc-coordinator restore: makes a state directory from a backup.
#ifndef HPC_COORDINATOR_RESTORE_COMMAND_H_
#define HPC_COORDINATOR_RESTORE_COMMAND_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/options.h"

namespace hpc::coordinator {

// Returns text to print: what was done and what comes next. Errors are those of RestoreBackup.
absl::StatusOr<std::string> RunRestoreCommand(const Options& options, absl::Time now);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RESTORE_COMMAND_H_
