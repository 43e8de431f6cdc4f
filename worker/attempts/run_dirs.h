// How long this PC keeps what runs leave on it: their folders (HPC_RUN_DIR), with their
// checkpoints.
//
// A worker does not know which runs are over, and the folder of a run that is over may hold all
// that the run has produced. So a folder that is not empty stays for a number of days after the
// run's last attempt on this PC, however the run ended. A day counts when the worker sees its date.
// A clock that jumps by a year thus makes nothing a year old, and a PC that is off does not lose
// what waits on it.
//
//   <state-dir>/runs.json         {"today": "2026-11-21", "days": {"12": 3}}
#ifndef HPC_WORKER_ATTEMPTS_RUN_DIRS_H_
#define HPC_WORKER_ATTEMPTS_RUN_DIRS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/time/civil_time.h"
#include "common/ids.h"

namespace hpc::worker {

// For each run whose folder is here, the number of days seen since its last attempt.
struct RunDirAges {
  std::string today;  // when the ages were last brought up to date; "": never
  std::map<RunId, int32_t> days;
};
// The age of a folder does not grow beyond this.
inline constexpr int32_t kMaxRunDirDays = 1'000'000;

// Brings the ages up to date with the folders that are here. Folders in use become young again.
RunDirAges Age(const RunDirAges& before, const std::set<RunId>& folders,
               const std::set<RunId>& in_use, const std::string& today);

// Removes the folders that are older than `keep_days` (0: none), each with a line in the log, and
// says once a day how many stay. A folder is in use while an attempt of its run is here.
void RemoveOldRunDirs(const std::string& state_dir, absl::CivilDay today, int32_t keep_days);

}  // namespace hpc::worker

#endif  // HPC_WORKER_ATTEMPTS_RUN_DIRS_H_
