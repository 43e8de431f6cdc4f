// A process that holds keys, secrets of runs, or tokens keeps them to itself.
#ifndef HPC_COMMON_PROCESS_PRIVATE_MEMORY_H_
#define HPC_COMMON_PROCESS_PRIVATE_MEMORY_H_

namespace hpc {

// The calling process leaves no core file, and others of its account may neither trace it nor read
// its memory or environment. Does not outlive an execve.
void KeepMemoryPrivate();

}  // namespace hpc

#endif  // HPC_COMMON_PROCESS_PRIVATE_MEMORY_H_
