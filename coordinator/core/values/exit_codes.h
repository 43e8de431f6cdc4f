// Exit codes of `hpcctl run` where no rank's own code says how the run ended. 128 + n stands for a
// rank that signal n ended.
#ifndef HPC_COORDINATOR_CORE_VALUES_EXIT_CODES_H_
#define HPC_COORDINATOR_CORE_VALUES_EXIT_CODES_H_

#include <cstdint>

namespace hpc::coordinator {

inline constexpr int32_t kExitCancelled = 122;
inline constexpr int32_t kExitTimedOut = 124;
inline constexpr int32_t kExitNotRun = 125;         // a node cannot run it, or too many were lost
inline constexpr int32_t kExitNotExecutable = 126;  // as in a shell
inline constexpr int32_t kExitNotFound = 127;       // as in a shell

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_VALUES_EXIT_CODES_H_
