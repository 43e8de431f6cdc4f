// Time as a value. Cores take a `Now`; only shells ask a Clock.
#ifndef HPC_COMMON_CLOCK_H_
#define HPC_COMMON_CLOCK_H_

#include <compare>

#include "absl/time/time.h"

namespace hpc {

// A point on a clock that never jumps. Its zero has no meaning outside one process, so a MonoTime
// is never stored or sent; send an age or a time left instead.
struct MonoTime {
  absl::Duration since_zero;

  friend bool operator==(MonoTime a, MonoTime b) { return a.since_zero == b.since_zero; }
  friend std::weak_ordering operator<=>(MonoTime a, MonoTime b) {
    if (a.since_zero < b.since_zero) return std::weak_ordering::less;
    if (b.since_zero < a.since_zero) return std::weak_ordering::greater;
    return std::weak_ordering::equivalent;
  }
  friend MonoTime operator+(MonoTime t, absl::Duration d) { return {t.since_zero + d}; }
  friend MonoTime operator-(MonoTime t, absl::Duration d) { return {t.since_zero - d}; }
  friend absl::Duration operator-(MonoTime a, MonoTime b) { return a.since_zero - b.since_zero; }

  static MonoTime Infinite() { return {absl::InfiniteDuration()}; }
};

// One reading of both clocks. Deadlines and leases use `mono`; what a person reads uses `wall`.
struct Now {
  MonoTime mono;
  absl::Time wall;
};

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Now Get() const = 0;
};

// CLOCK_MONOTONIC and CLOCK_REALTIME.
class RealClock : public Clock {
 public:
  Now Get() const override;
};

// A clock that stands still until it is told to move. It starts at mono = 0, wall = 2026-01-01 UTC.
class FakeClock : public Clock {
 public:
  FakeClock();
  Now Get() const override { return now_; }
  void Advance(absl::Duration d) {
    now_.mono = now_.mono + d;
    now_.wall += d;
  }

 private:
  Now now_;
};

}  // namespace hpc

#endif  // HPC_COMMON_CLOCK_H_
