// What `hpcctl run` exits with when no rank's own code says it. 128 + n is a rank's signal n.
#ifndef HPC_COORDINATOR_CORE_VALUES_EXIT_CODES_H_
#define HPC_COORDINATOR_CORE_VALUES_EXIT_CODES_H_

#include <cstdint>

namespace hpc::coordinator {

inline constexpr int32_t kExitCancelled = 122;
inline constexpr int32_t kExitTimedOut = 124;
inline constexpr int32_t kExitNotRun = 125;         // a node cannot run it, nodes lost too often
inline constexpr int32_t kExitNotExecutable = 126;  // as a shell's
inline constexpr int32_t kExitNotFound = 127;       // as a shell's

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_VALUES_EXIT_CODES_H_
