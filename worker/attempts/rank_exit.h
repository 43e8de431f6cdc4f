// How a rank ended, from what its supervisor saw and from what the rank itself said.
#ifndef HPC_WORKER_ATTEMPTS_RANK_EXIT_H_
#define HPC_WORKER_ATTEMPTS_RANK_EXIT_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "protocol/rank_exit.h"
#include "worker/supervisor/protocol/spec.h"

namespace hpc::worker {

// What a rank that was killed by SIGKILL may have died of: "perhaps out of memory: it had 61
// GiB of 64 GiB". "" if it had less than a quarter of what there is. Both are in KiB.
std::string MemoryWords(int64_t peak_kb, int64_t there_kb);

protocol::RankExit ToRankExit(const RankExited& event);
// As with a shell, the exit code is 127 if there is no such program, and otherwise 126.
protocol::RankExit ToRankExit(const RankStartFailed& event);

// Adds the words of the rank's error file to a failure. False if the rank wrote no such file.
bool ExplainByErrorFile(const std::string& attempt_dir, int32_t rank, protocol::RankExit* exit);
// Explains a failure in words: by the error file, or else by the exception that ended the rank, as
// Python wrote it to stderr, or else by the last lines of its stderr, as far as they are on disk.
// An exit that has words already, or is a success, stays as it is.
void ExplainExit(const std::string& attempt_dir, int32_t rank, protocol::RankExit* exit);
// Sets words_before_end of a failure with a traceback: how long before `ended_at` the error file,
// or else stderr, was last written to. Leaves it unset if that is longer than kLongestEnding.
void DateWords(const std::string& attempt_dir, int32_t rank, absl::Time ended_at,
               protocol::RankExit* exit);

}  // namespace hpc::worker

#endif  // HPC_WORKER_ATTEMPTS_RANK_EXIT_H_
