#include "common/backoff.h"

#include <algorithm>

namespace hpc {

absl::Duration Backoff::Next(double unit) {
  const absl::Duration wait = next_ * (0.5 + 0.5 * std::clamp(unit, 0.0, 1.0));
  next_ = std::min(next_ * 2, max_);
  return wait;
}

}  // namespace hpc
