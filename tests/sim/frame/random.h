// The only source of chance in a simulation. The same seed draws the same numbers on every machine
// and with every standard library.
#ifndef HPC_TESTS_SIM_FRAME_RANDOM_H_
#define HPC_TESTS_SIM_FRAME_RANDOM_H_

#include <cmath>
#include <cstdint>

#include "absl/time/time.h"

namespace hpc::sim {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  // The algorithm is splitmix64.
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // A number from 0 to n - 1.
  int Below(int n) { return static_cast<int>(Next() % static_cast<uint64_t>(n)); }
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }
  bool Chance(double p) { return Unit() < p; }
  // A time in whole microseconds, since both wires carry those.
  absl::Duration Between(absl::Duration least, absl::Duration most) {
    return absl::Microseconds(
        absl::ToInt64Microseconds(least) +
        static_cast<int64_t>(Unit() *
                             static_cast<double>(absl::ToInt64Microseconds(most - least))));
  }
  // The time until the next of events that come `per_minute` times a minute.
  absl::Duration NextOf(double per_minute) {
    const double minutes = -std::log(1 - Unit()) / per_minute;
    return absl::Microseconds(static_cast<int64_t>(minutes * 60e6) + 1);
  }

 private:
  uint64_t state_;
};

}  // namespace hpc::sim

#endif  // HPC_TESTS_SIM_FRAME_RANDOM_H_
