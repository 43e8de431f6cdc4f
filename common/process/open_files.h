// How many files this process may have open.
#ifndef HPC_COMMON_PROCESS_OPEN_FILES_H_
#define HPC_COMMON_PROCESS_OPEN_FILES_H_

#include <sys/resource.h>

namespace hpc {

// A limit beyond this is as good as none.
inline constexpr rlim_t kMostOpenFiles = 1 << 20;

// As many as the administrator allows (the hard limit), but no more than kMostOpenFiles. For the
// start of a daemon, before it has threads. What cannot be is logged.
void RaiseOpenFiles();

// What programs that we start are to have: the limit as it was before RaiseOpenFiles, since some go
// wrong where it is a large one.
rlimit InheritedOpenFiles();

}  // namespace hpc

#endif  // HPC_COMMON_PROCESS_OPEN_FILES_H_
