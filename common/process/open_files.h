// How many files this process may have open.
#ifndef HPC_COMMON_PROCESS_OPEN_FILES_H_
#define HPC_COMMON_PROCESS_OPEN_FILES_H_

#include <sys/resource.h>

namespace hpc {

// A limit beyond this is as good as none.
inline constexpr rlim_t kMostOpenFiles = 1 << 20;

// Raises the limit to what the administrator allows (the hard limit), but no higher than
// kMostOpenFiles. It is for the start of a daemon, before it has threads. A failure is logged.
void RaiseOpenFiles();

// Returns the limit for programs that we start: the one from before RaiseOpenFiles. Some programs
// go wrong when the limit is large.
rlimit InheritedOpenFiles();

}  // namespace hpc

#endif  // HPC_COMMON_PROCESS_OPEN_FILES_H_
