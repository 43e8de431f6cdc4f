// The most that a message may hold. A message with more is damaged.
#ifndef HPC_PROTOCOL_LIMITS_H_
#define HPC_PROTOCOL_LIMITS_H_

#include <cstdint>

#include "absl/time/time.h"

namespace hpc::protocol {

// The most ranks of a run. A message with more must not make us allocate memory.
inline constexpr int32_t kMaxRanks = 65'536;
constexpr bool ArePossibleRanks(int32_t first, int32_t count) {
  return first >= 0 && count >= 0 && count <= kMaxRanks && first <= kMaxRanks - count;
}

// Longer than any time that can be asked for. A supervisor counts time in nanoseconds, which
// overflow after 292 years.
inline constexpr absl::Duration kMaxSpan = absl::Hours(365 * 24);

// The most bytes of anything that ranks write. Sums of offsets must not overflow.
inline constexpr int64_t kMaxOffset = int64_t{1} << 45;

}  // namespace hpc::protocol

#endif  // HPC_PROTOCOL_LIMITS_H_
