// Where a worker keeps its attempts, and what it must remember of each to find it again.
//   <state-dir>/attempts/12.2/    one attempt
//     record                      worker/supervisor_client/attempt_record.h: AttemptFile; on the
//                                 node of rank 0 StoreRecord; WitnessRecord of an attempt that is
//                                 witnessed; where its processes are held if they are another
//                                 account's
//     metrics-4.base              what MetricsReader keeps of rank 4's file, where that was cut
//     journal, supervisor.sock    the supervisor's; worker/supervisor/protocol/spec.h
//     ranks/                      of the account that the ranks run as;
//                                 worker/supervisor/protocol/spec.h says what is in it
//       params.json               the run's parameters         (HPC_PARAMS_FILE)
//       home/                     where their account has none (HOME)
//   <state-dir>/runs/12/          likewise; stays over the run's attempts (HPC_RUN_DIR), until it
//                                 is empty or run_dirs.h says that it is too old
//     checkpoints/                unless the user keeps them elsewhere (HPC_CHECKPOINT_DIR)
//   <state-dir>/spare/            empty folders of both; spare_folders.h
//
// Only the worker can write above ranks/, so no rank can change what it believes of an attempt.
// Other accounts may pass through these folders, but not list them.
#ifndef HPC_WORKER_ATTEMPTS_ATTEMPT_FILES_H_
#define HPC_WORKER_ATTEMPTS_ATTEMPT_FILES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "protocol/prepare.h"
#include "worker/attempts/spare_folders.h"
#include "worker/supervisor/os/privileges.h"
#include "worker/supervisor_client/attempt_record.h"

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
std::string RanksDir(const std::string& state_dir, AttemptRef ref);
std::string RunDir(const std::string& state_dir, RunId run);

// Parses a name such as "12.2". nullopt: it is not the name of an attempt.
std::optional<AttemptRef> ParseAttemptName(const std::string& name);

// Makes the folders of the attempt and the run, for use by `account` (nullptr: the worker's own).
// Writes the attempt's files, with `others` in its record. `spares`: where folders may be taken
// from; nullptr: none are. `home`: makes HomeDir(), too.
absl::Status MakeAttemptFiles(const std::string& state_dir, const protocol::Prepare& prepare,
                              const AccountIds* account, SpareFolders* spares = nullptr,
                              const std::vector<RecordLine>& others = {}, bool home = false);
// Returns what is in the run's own folder for checkpoints, sorted by name, kMostCheckpoints at
// most. It is read with the account's rights. `now` is of the clock of files. Hidden and temporary
// files
// (.tmp, .part) are left out. Returns nothing if the user has named another folder.
std::vector<protocol::FoundCheckpoint> ListCheckpoints(const std::string& state_dir,
                                                       const protocol::Prepare& prepare,
                                                       const AccountIds* account, absl::Time now);
// Makes the files durable. An end that the supervisor has synced is then found after a power cut,
// and so is a checkpoint that the program has synced. This takes a while on some disks.
absl::Status SyncAttemptFiles(const std::string& state_dir, AttemptRef ref,
                              const SpareFolders* spares = nullptr);
absl::StatusOr<AttemptFile> ReadAttemptFile(const std::string& attempt_dir);
// Deletes the attempt's folder, beginning with the record that identifies it. Files of another
// account are deleted with that account's rights, so that none of its links leads elsewhere.
// `spares` may keep the folder instead. `proved_gone`: nobody needs to look again for what is left
// of its ranks.
absl::Status RemoveAttemptDir(const std::string& attempt_dir, SpareFolders* spares = nullptr,
                              bool proved_gone = false);

// To be called after that. Deletes the run's folder if it is empty and no attempt of the run is
// here any more. For the thread that makes attempts' files.
absl::Status RemoveEmptyRunDir(const std::string& state_dir, RunId run,
                               SpareFolders* spares = nullptr);

// Calls the two functions above, one after the other.
absl::Status RemoveAttemptFiles(const std::string& state_dir, AttemptRef ref,
                                SpareFolders* spares = nullptr);

// Removes a folder inside one of ours. It may belong to another account, and is then removed with
// that account's rights.
absl::Status RemoveForeignDir(const std::string& path);

// The names in <state-dir>/attempts, sorted.
std::vector<std::string> ListAttempts(const std::string& state_dir);

}  // namespace hpc::worker

#endif  // HPC_WORKER_ATTEMPTS_ATTEMPT_FILES_H_
