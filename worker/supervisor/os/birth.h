// How a process of an attempt is forked.
#ifndef HPC_WORKER_SUPERVISOR_OS_BIRTH_H_
#define HPC_WORKER_SUPERVISOR_OS_BIRTH_H_

#include <sys/types.h>

#include "worker/supervisor/os/cgroup_leaf.h"

namespace hpc::worker {

// As fork(2). The child is born inside `leaf` (nullptr: in our own cgroup) where the kernel can do
// that: else *must_enter is true, and the child has to move itself, which makes it wait for an RCU
// grace period of the whole machine, some 15 ms. The child of a process of several threads may do
// system calls only.
pid_t ForkInto(const CgroupLeaf* leaf, bool* must_enter);

// The same for a process of one thread, whose child goes on with the C library.
pid_t ForkToStay(const CgroupLeaf* leaf, bool* must_enter);

// Every signal has its default and none is blocked: whatever whoever started us wanted of them.
void ResetSignals();

// What a supervisor, which began like that, does not heed itself.
void IgnoreSignals();
// For its child, before it executes something: as ResetSignals, of those alone.
void HeedSignals();

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_OS_BIRTH_H_
