// Keeps keys, tokens and the secrets of runs inside the process that holds them.
#ifndef HPC_COMMON_PROCESS_PRIVATE_MEMORY_H_
#define HPC_COMMON_PROCESS_PRIVATE_MEMORY_H_

namespace hpc {

// From now on the calling process leaves no core file, and other processes of its account may
// neither trace it nor read its memory or environment. The setting does not outlive an execve.
void KeepMemoryPrivate();

}  // namespace hpc

#endif  // HPC_COMMON_PROCESS_PRIVATE_MEMORY_H_
