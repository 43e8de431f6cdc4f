// Identifiers used on both sides of the wire.
#ifndef HPC_COMMON_IDS_H_
#define HPC_COMMON_IDS_H_

#include <compare>
#include <cstdint>
#include <functional>
#include <string>

namespace hpc {

// A run's number: 1, 2, 3 ... in order of submission, never reused. 0 means "no run".
using RunId = int64_t;

// An event's number: increasing over the cluster's whole life. It is also the version that watches
// are resumed from. 0 is before the first event.
using EventId = int64_t;

// One placement of a run on nodes. `number` starts at 1 and grows with each restart or resize; it
// is the fencing token: whatever an older attempt still says is refused.
struct AttemptRef {
  RunId run = 0;
  int32_t number = 0;

  auto operator<=>(const AttemptRef&) const = default;

  // Returns "12.2" for the second attempt of run 12.
  std::string ToString() const { return std::to_string(run) + "." + std::to_string(number); }

  template <typename H>
  friend H AbslHashValue(H h, const AttemptRef& ref) {
    return H::combine(std::move(h), ref.run, ref.number);
  }
};

}  // namespace hpc

#endif  // HPC_COMMON_IDS_H_
