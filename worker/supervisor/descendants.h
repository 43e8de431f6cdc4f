// The processes that descend from the caller, which is their subreaper: an orphan becomes its
// child. One child may belong to no attempt, the resident: it is none of these.
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
// The caller's children but the resident.
std::vector<int64_t> OwnChildren();

// From now on that child is the resident. -1: there is none. What it starts must not outlive it, or
// be its affair when it loses its parent.
void SetResident(int64_t pid);
// -1: there is none.
int64_t Resident();

// SIGKILLs all descendants.
void KillDescendants();

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_DESCENDANTS_H_
