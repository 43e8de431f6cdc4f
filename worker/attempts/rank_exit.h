// How a rank ended: from what its supervisor saw and what the rank said of itself.
#ifndef HPC_WORKER_ATTEMPTS_RANK_EXIT_H_
#define HPC_WORKER_ATTEMPTS_RANK_EXIT_H_

#include <string>

#include "worker/core/messages.h"
#include "worker/supervisor/protocol/spec.h"

namespace hpc::worker {

RankExit ToRankExit(const RankExited& event);
// 127 where there is no such program, else 126: as a shell says it.
RankExit ToRankExit(const RankStartFailed& event);

// Adds the words of its error file to a failure. False if it wrote none.
bool ExplainByErrorFile(const std::string& attempt_dir, int32_t rank, RankExit* exit);
// The same, else the exception that ended it as Python wrote it to stderr, else the last lines of
// its stderr, as far as it is on disk. Leaves an exit alone that has words already or is a success.
void ExplainExit(const std::string& attempt_dir, int32_t rank, RankExit* exit);

}  // namespace hpc::worker

#endif  // HPC_WORKER_ATTEMPTS_RANK_EXIT_H_
