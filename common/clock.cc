#include "common/clock.h"

#include <time.h>

#include "absl/time/civil_time.h"
#include "absl/time/clock.h"

namespace hpc {

Now RealClock::Get() const {
  timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return {{absl::Seconds(ts.tv_sec) + absl::Nanoseconds(ts.tv_nsec)}, absl::Now()};
}

FakeClock::FakeClock()
    : now_{{absl::ZeroDuration()},
           absl::FromCivil(absl::CivilSecond(2026, 1, 1), absl::UTCTimeZone())} {}

}  // namespace hpc
