// Moments for tests.
#ifndef HPC_COMMON_TESTING_AT_H_
#define HPC_COMMON_TESTING_AT_H_

#include "common/clock.h"

namespace hpc {

// The moment so many seconds after the beginning of a test: At(1.5).
inline MonoTime At(double seconds) { return {absl::Seconds(seconds)}; }

}  // namespace hpc

#endif  // HPC_COMMON_TESTING_AT_H_
