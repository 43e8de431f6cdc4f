// Versions that the two ends of a connection compare.
#ifndef HPC_COMMON_VERSION_H_
#define HPC_COMMON_VERSION_H_

#include <cstdint>

namespace hpc {

// The version of the worker protocol (proto/hpc/v1/worker.proto). Only an incompatible change
// raises it. A coordinator accepts this one and the one before.
inline constexpr int32_t kProtocolVersion = 1;
inline constexpr int32_t kOldestProtocolVersion = 1;

// Returns the release, "0.1.0".
const char* Version();

}  // namespace hpc

#endif  // HPC_COMMON_VERSION_H_
