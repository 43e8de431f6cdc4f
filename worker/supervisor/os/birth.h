// How a process of an attempt is forked.
#ifndef HPC_WORKER_SUPERVISOR_OS_BIRTH_H_
#define HPC_WORKER_SUPERVISOR_OS_BIRTH_H_

#include <sys/types.h>

#include "worker/supervisor/os/cgroup_leaf.h"

namespace hpc::worker {

// Forks, as fork(2) does. If the kernel can do that, the child is born inside `leaf` (nullptr: in
// our own cgroup). Otherwise *must_enter is true and the child has to move itself. It then waits
// for an RCU grace period of the whole machine, some 15 ms. If the caller has several threads, the
// child may only make system calls.
pid_t ForkInto(const CgroupLeaf* leaf, bool* must_enter);

// The same for a caller with one thread, whose child may go on using the C library.
pid_t ForkToStay(const CgroupLeaf* leaf, bool* must_enter);

// Gives every signal its default and blocks none, whatever whoever started us wanted.
void ResetSignals();

// Ignores the signals that a supervisor does not react to itself. It must have begun with
// ResetSignals.
void IgnoreSignals();
// For a supervisor's child, before it executes something: resets only the signals of IgnoreSignals.
void HeedSignals();

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_OS_BIRTH_H_
