#include "coordinator/runtime/clock_reading.h"

#include <time.h>

#include "absl/strings/ascii.h"
#include "common/files/files.h"

namespace hpc::coordinator {
namespace {

// The two clocks are not read in the same moment, and NTP moves one of them slowly.
constexpr absl::Duration kTolerance = absl::Milliseconds(10);

bool IsNear(const ClockReading& a, const ClockReading& b) {
  return a.boot_id == b.boot_id && absl::AbsDuration(a.zero - b.zero) <= kTolerance;
}

}  // namespace

ClockReading ReadClocks() {
  static const std::string boot_id = [] {
    const auto text = ReadFile("/proc/sys/kernel/random/boot_id", 100);
    return text.ok() ? std::string(absl::StripAsciiWhitespace(*text)) : "";
  }();
  timespec since_boot{};
  clock_gettime(CLOCK_BOOTTIME, &since_boot);
  return {boot_id, absl::Now() - absl::DurationFromTimespec(since_boot)};
}

absl::Duration SetBetween(const std::optional<ClockReading>& before, const ClockReading& now) {
  const bool same_boot = before && !now.boot_id.empty() && before->boot_id == now.boot_id;
  return same_boot && !IsNear(*before, now) ? now.zero - before->zero : absl::ZeroDuration();
}

std::optional<ClockReading> ClockNote::Changed(const ClockReading& now) {
  if (last_ && IsNear(*last_, now)) return std::nullopt;
  last_ = now;
  return now;
}

}  // namespace hpc::coordinator
