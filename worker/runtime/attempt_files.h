// Where a worker keeps its attempts, and what it must remember of each to find it again.
//
//   <state-dir>/attempts/12.2/    one attempt; worker/supervisor/spec.h says what is in it
//     attempt.json                AttemptFile
//     params.json                 the run's parameters         (HPC_PARAMS_FILE)
//     store.json                  StoreRecord of the node of rank 0
//   <state-dir>/runs/12/          stays over the run's attempts (HPC_RUN_DIR)
#ifndef HPC_WORKER_RUNTIME_ATTEMPT_FILES_H_
#define HPC_WORKER_RUNTIME_ATTEMPT_FILES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "worker/core/messages.h"

namespace hpc::worker {

struct AttemptFile {
  AttemptRef ref;
  std::vector<int32_t> devices;
  int32_t first_rank = 0;
  int32_t ranks = 0;
  absl::Duration stop_grace;

  std::vector<int32_t> RankNumbers() const;
};

std::string AttemptDir(const std::string& state_dir, AttemptRef ref);
std::string RunDir(const std::string& state_dir, RunId run);

// "12.2". nullopt: not the name of an attempt.
std::optional<AttemptRef> ParseAttemptName(const std::string& name);

// Makes the attempt's and the run's folder and writes what belongs into the former.
absl::Status MakeAttemptFiles(const std::string& state_dir, const Prepare& prepare);
absl::StatusOr<AttemptFile> ReadAttemptFile(const std::string& attempt_dir);
// Deletes the attempt's folder, and the run's if it is empty.
absl::Status RemoveAttemptFiles(const std::string& state_dir, AttemptRef ref);

// Not synced: after a power failure no process is left either, and half a file is no file.
absl::Status WriteQuickly(const std::string& path, const std::string& text);

// Names in <state-dir>/attempts, sorted.
std::vector<std::string> ListAttempts(const std::string& state_dir);

}  // namespace hpc::worker

#endif  // HPC_WORKER_RUNTIME_ATTEMPT_FILES_H_
