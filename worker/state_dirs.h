// Where a worker keeps its state by default, and where the PC's owner looks for it. One rule serves
// both. Pure. What is in that folder: attempts/attempt_files.h (attempts and runs),
// owner/owner_file.h (the owner's wish), runtime/told_to_end.h (that the worker was told to end),
// and the node's certificate.
#ifndef HPC_WORKER_STATE_DIRS_H_
#define HPC_WORKER_STATE_DIRS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "common/files/user_state.h"

namespace hpc::worker {

// Where `user` finds a worker, the likeliest first: the user's own in UserStateDir, then root's in
// /var/lib/hpc-worker. A worker that `user` starts keeps its state in the first of them.
std::vector<std::string> DefaultStateDirs(uid_t user, const Environment& environment);

}  // namespace hpc::worker

#endif  // HPC_WORKER_STATE_DIRS_H_
