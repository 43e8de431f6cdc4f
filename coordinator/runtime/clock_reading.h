// Whether the wall clock was set while the coordinator was not there. Stored times are of the wall
// clock, and it matters what came first.
#ifndef HPC_COORDINATOR_RUNTIME_CLOCK_READING_H_
#define HPC_COORDINATOR_RUNTIME_CLOCK_READING_H_

#include <optional>

#include "absl/time/time.h"
#include "coordinator/store/store.h"

namespace hpc::coordinator {

// The clocks of this machine, now.
ClockReading ReadClocks();

// How far the wall clock was set forward between two readings. Zero if the machine has restarted
// between them, which hides it, or if there is no earlier one.
absl::Duration SetBetween(const std::optional<ClockReading>& before, const ClockReading& now);

// Says when a reading has to be stored.
class ClockNote {
 public:
  // The reading, if it differs from the last one by more than clocks differ by themselves.
  std::optional<ClockReading> Changed(const ClockReading& now);

 private:
  std::optional<ClockReading> last_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RUNTIME_CLOCK_READING_H_
