// How long what runs leave on this PC stays: their folders (HPC_RUN_DIR), with their checkpoints.
//
// A worker does not know which runs are over, and what a run that is over has left may be all that
// came of it. So a folder that is not empty stays for a number of days after the run's last attempt
// on this PC, however the run ended. A day counts when the worker sees its date: a clock that jumps
// by a year makes nothing a year old, and a PC that is off does not lose what waits on it.
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

// Days seen since the last attempt of each run whose folder is here.
struct RunDirAges {
  std::string today;  // when that was last brought up to date; "": never
  std::map<RunId, int32_t> days;
};
// A folder that is older counts no further.
inline constexpr int32_t kMaxRunDirDays = 1'000'000;

// Brings them up to date with the folders that are here, those in use being young again.
RunDirAges Age(const RunDirAges& before, const std::set<RunId>& folders,
               const std::set<RunId>& in_use, const std::string& today);

// Removes the folders that are older than `keep_days` (0: none), each with a line in the log, and
// once a day says how many stay. What belongs to an attempt that is here is in use.
void RemoveOldRunDirs(const std::string& state_dir, absl::CivilDay today, int32_t keep_days);

}  // namespace hpc::worker

#endif  // HPC_WORKER_ATTEMPTS_RUN_DIRS_H_
