// The processes that descend from the caller, which is their subreaper: an orphan becomes its
// child.
#ifndef HPC_WORKER_SUPERVISOR_DESCENDANTS_H_
#define HPC_WORKER_SUPERVISOR_DESCENDANTS_H_

#include <cstdint>
#include <vector>

namespace hpc::worker {

// The descendants that /proc shows at this moment, parents before their children. A process that
// forks meanwhile may be missing from any such list. Only waitpid(-1) failing with ECHILD proves
// that none is left.
std::vector<int64_t> Descendants();

// The children of a process, which are not always the caller's descendants.
std::vector<int64_t> ChildrenOf(int64_t pid);

// SIGKILLs all descendants.
void KillDescendants();

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_DESCENDANTS_H_
